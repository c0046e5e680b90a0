"""Runs one container without an engine: ``python -m tests.compose.container SPEC`` inside its own namespaces.

:mod:`tests.compose.engine` writes the specification (JSON). The root is an overlay of the image's file system, with the
container's volumes, secrets and folders in memory. The container then drops every right that the compose file does not
grant, and runs the command below a first process that passes on signals and reaps children, as ``init: true`` does.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, LAST_CAPABILITY = 24, 38, 40
CAPABILITIES = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "SETGID": 6, "SETUID": 7, "NET_BIND_SERVICE": 10}
libc = ctypes.CDLL(None, use_errno=True)


def mount(*words: str | Path) -> None:
    """Mount in this process's own mount namespace."""
    subprocess.run(["mount", *map(str, words)], check=True)


def make_root(spec: dict[str, Any]) -> Path:
    """Make the container's root: the image, a layer for its changes, and all mounts."""
    work = Path(spec["work"])
    root, layer, scratch = work / "root", work / "layer", work / "overlay"
    for folder in (root, layer, scratch):
        folder.mkdir(parents=True, exist_ok=True)
    options = f"lowerdir={spec['image']},upperdir={layer},workdir={scratch}"
    mount("-t", "overlay", "overlay", "-o", options, root)
    for name in ("proc", "dev"):
        (root / name).mkdir(exist_ok=True)
    mount("-t", "proc", "proc", root / "proc")
    mount("--rbind", "/dev", root / "dev")
    for target in spec["tmpfs"]:
        (root / target[1:]).mkdir(parents=True, exist_ok=True)
        mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", root / target[1:])
    for source, target, read_only in spec["binds"]:
        inside = root / target[1:]
        if Path(source).is_dir():
            inside.mkdir(parents=True, exist_ok=True)
        else:
            inside.parent.mkdir(parents=True, exist_ok=True)
            inside.unlink(missing_ok=True)  # a link could lead out of the container
            inside.touch()
        mount("--bind", source, inside)
        if read_only:
            mount("-o", "remount,bind,ro", inside)
    if spec["read_only"]:
        mount("-o", "remount,ro", root)
    return root


def drop_rights(spec: dict[str, Any]) -> None:
    """Keep the specification's capabilities, become its user, and gain no rights from programs run later."""
    wanted = {CAPABILITIES[name] for name in spec["capabilities"]}
    for capability in range(LAST_CAPABILITY + 1):
        if capability not in wanted and libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "cannot drop a capability")
    os.setgroups([])
    os.setgid(spec["gid"])
    os.setuid(spec["uid"])
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot refuse new privileges")


def run(spec: dict[str, Any]) -> int:
    """Run the command to its end and return its exit status."""
    os.chroot(make_root(spec))
    os.chdir(spec["workdir"])
    os.umask(0o022)
    child = os.fork()
    if child == 0:
        drop_rights(spec)
        os.execvpe(spec["command"][0], spec["command"], spec["environment"])
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    while True:
        ended, status = os.wait()
        if ended == child:
            return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    code = run(json.loads(Path(sys.argv[1]).read_text()))
    sys.exit(code if code >= 0 else 128 - code)
