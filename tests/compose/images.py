"""Images from ``deploy/Dockerfile``: by docker where it answers, else by Debian's ``buildah`` upon a base that
``mmdebstrap`` makes. ``python -m tests.compose.images [api] [worker]`` builds them."""

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
"""Where buildah keeps images: remove the folder to be rid of them."""
BUILDAH = ("buildah", "--root", str(STORE / "storage"), "--runroot", str(STORE / "run"))
BASE = "localhost/kennel-python"
PACKAGES = "python3,python3-pip,ca-certificates"
"""What the base has of python:3.11-slim-bookworm: Debian 12's Python is 3.11, too."""
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
TARGETS = ("api", "worker")


def docker_answers() -> bool:
    """Whether there is an engine: the command alone is none."""
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True, check=False).returncode == 0


def buildah(*words: str | Path) -> str:
    """Run buildah on our own store; what it prints."""
    done = subprocess.run([*BUILDAH, *map(str, words)], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"buildah {' '.join(map(str, words))}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def make_base() -> None:
    """Make the base image, if there is none: Debian 12 with its Python, as the Dockerfile's base has it."""
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
    """Build an image by buildah, as ``kennel-TARGET``."""
    make_base()
    options = ["--isolation", "chroot", "--network", "host", "--pull-never", "--format", "docker", "--layers"]
    if CERTIFICATES.exists():  # those that this machine trusts
        options += ["--volume", f"{CERTIFICATES}:{CERTIFICATES}:ro"]
    options += ["--build-arg", f"PYTHON_IMAGE={BASE}", "--target", target, "--tag", f"kennel-{target}"]
    buildah("bud", *options, "--file", "deploy/Dockerfile", ".")


def configuration(target: str) -> dict[str, Any]:
    """The configuration of a built image: its user, variables, command and check of health."""
    found: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", f"kennel-{target}"))
    return dict(found["Docker"]["config"])


@contextmanager
def mounted(target: str) -> Iterator[str]:
    """The path of an image's file system, for reading, as long as the block runs."""
    container = buildah("from", "--pull-never", f"kennel-{target}")
    try:
        yield buildah("mount", container)
    finally:
        buildah("rm", container)


def main(targets: list[str]) -> None:
    """Build the images and tell their sizes."""
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
        size = next(iter(sizes.splitlines()), "its size is not told")  # it may be tagged by another name
        print(f"kennel-{target}: {size}, {time.monotonic() - begun:.0f} s")  # noqa: T201 - what is built, for people


if __name__ == "__main__":
    main(sys.argv[1:])
