"""Builds images from ``deploy/Dockerfile``: ``python -m tests.compose.images [api] [worker]``.

It uses docker if its engine runs, else Debian's ``buildah`` with a base image that ``mmdebstrap`` makes.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.compose.compose_file import MAIN, ROOT

STORE = Path("/var/tmp/kennel-images")
"""The folder of buildah's images. Remove it to delete them."""
BUILDAH = ("buildah", "--root", str(STORE / "storage"), "--runroot", str(STORE / "run"))
BASE = "localhost/kennel-python"
PACKAGES = "python3,python3-pip,ca-certificates"
"""The base image replaces python:3.11-slim-bookworm; Debian 12's Python is also 3.11."""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
TARGETS = ("api", "worker")


def docker_answers() -> bool:
    """Whether docker's engine runs; the command can exist without it."""
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


def buildah(*words: str | Path) -> str:
    """Run buildah on the store of these tests and return its output."""
    done = subprocess.run([*BUILDAH, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"buildah {' '.join(map(str, words))}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def make_base() -> None:
    """Make the base image if it is missing: Debian 12 with its Python."""
    if buildah("images", "--format", "{{.Name}}", "--noheading").splitlines().count(BASE):
        return
    STORE.mkdir(parents=True, exist_ok=True)
    tree = STORE / "base.tar"
    hooks = ("rm -f $1/usr/lib/python3*/EXTERNALLY-MANAGED", "ln -s python3 $1/usr/bin/python")
    command = [
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={PACKAGES}",
        "--aptopt=APT::Install-Recommends false",
    ]
    command += [f"--customize-hook={hook.replace('$1', chr(34) + '$1' + chr(34))}" for hook in hooks]
    subprocess.run([*command, "bookworm", str(tree)], check=True)
    container = buildah("from", "scratch")
    buildah("add", container, tree, "/")
    buildah("config", "--env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
    buildah("commit", "--rm", "--format", "docker", container, BASE)
    tree.unlink()


def build(target: str) -> None:
    """Build an image with buildah, tagged ``kennel-TARGET``."""
    make_base()
    options = ["--isolation", "chroot", "--network", "host", "--pull-never", "--format", "docker", "--layers"]
    if CERTIFICATES.exists():  # this machine may have its own authorities
        options += ["--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"]
    options += ["--build-arg", f"PYTHON_IMAGE={BASE}", "--target", target, "--tag", f"kennel-{target}"]
    buildah("bud", *options, "--file", "deploy/Dockerfile", ".")


def configuration(target: str) -> dict[str, Any]:
    """The configuration of a built image: user, variables, command and health check."""
    found: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", f"kennel-{target}"))
    return dict(found["Docker"]["config"])


@contextmanager
def mounted(target: str) -> Iterator[str]:
    """Mount an image's file system for reading during the block; the value is its path."""
    container = buildah("from", "--pull-never", f"kennel-{target}")
    try:
        yield buildah("mount", container)
    finally:
        buildah("rm", container)


def main(targets: list[str]) -> None:
    """Build the images and print their sizes."""
    for target in targets or TARGETS:
        begun = time.monotonic()
        if docker_answers():
            service = {"api": "api", "worker": "worker-gpu"}[target]
            subprocess.run(["docker", "compose", "-f", MAIN, "build", service], cwd=ROOT, check=True)
            list_images = ["docker", "images", "--format", "{{.Size}}", f"kennel-{target}"]
            sizes = subprocess.run(list_images, capture_output=True, text=True, check=True).stdout
        else:
            build(target)
            sizes = buildah("images", "--format", "{{.Size}}", f"kennel-{target}")
        size = next(iter(sizes.splitlines()), "size unknown")  # it may have another tag
        print(f"kennel-{target}: {size}, {time.monotonic() - begun:.0f} s")  # noqa: T201 - for people


if __name__ == "__main__":
    main(sys.argv[1:])
