"""The launcher of a part: drops root permanently, keeps its files private, ends it when the runner dies, executes the
command.

It runs as a script between fork and exec, because code in the forked copy of a threaded runner may deadlock. The
unprivileged account may be unable to reach this interpreter, so root starts it and then becomes that account. It
imports nothing of Kennel, so it starts in milliseconds.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38  # from Linux's <sys/prctl.h>
MAX_CAPABILITIES = 64
CANNOT_EXECUTE = 127  # as shells do
STAY = -1
CLONE_NEWNS = 0x20000
MS_BIND, MS_REC, MS_PRIVATE = 4096, 16384, 1 << 18  # from Linux's <sys/mount.h>


def main(
    signum: int, parent: int, uid: int, *, gid: int, niceness: int, reached: Sequence[str], command: list[str]
) -> None:
    """Execute ``command`` as ``uid:gid`` (STAY: unchanged); it gets the signal ``signum`` when ``parent`` dies. It can
    reach the folders ``reached`` even through closed folders.
    """
    os.nice(niceness)
    if uid != STAY and not all(_is_reachable(folder, uid, gid) for folder in reached):
        try:
            open_ways(reached, uid, gid)
        except OSError as error:
            print(
                f"user {uid} cannot reach {' and '.join(reached)} ({error.strerror}): install Kennel in a folder "
                "that everybody can read, such as /opt/kennel, or start it as an ordinary user",
                file=sys.stderr,
            )
            sys.exit(CANNOT_EXECUTE)
    os.umask(0o077)  # a part's files (blobs, decoded images, databases) are private to its account
    if uid != STAY:
        become(uid, gid)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        _require(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        # After the change of user, which clears it. On other systems only the watchdog ends what a dead runner left.
        libc.prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:  # the runner died before the request took effect
        sys.exit(CANNOT_EXECUTE)
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is the point
    except OSError as error:
        print(f"cannot execute {command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(CANNOT_EXECUTE)


def become(uid: int, gid: int) -> None:
    """Become ``uid:gid``, without other groups and without any capability that a program could restore."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in range(MAX_CAPABILITIES):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # fails for numbers that the kernel does not know
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def open_ways(folders: Sequence[str], uid: int, gid: int) -> None:
    """Let ``uid:gid`` reach ``folders`` through folders closed to it, such as /root. In this process's own view of the
    file system, an empty folder covers the closed one and contains only the ways to ``folders``. Raises ``OSError``
    without the right to do that.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    _require(libc.unshare(CLONE_NEWNS))
    _require(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None))
    opened = [(folder, os.open(folder, os.O_PATH | os.O_CLOEXEC)) for folder in folders]
    os.umask(0o066)  # passable, but not readable
    for folder, descriptor in opened:
        if _is_reachable(folder, uid, gid):
            continue
        closed = closed_folder(folder, uid, gid)
        if closed is not None:
            _require(libc.mount(b"tmpfs", bytes(closed), b"tmpfs", 0, b"mode=0711,size=64k"))
        Path(folder).mkdir(parents=True, exist_ok=True)
        _require(libc.mount(f"/proc/self/fd/{descriptor}".encode(), folder.encode(), None, MS_BIND | MS_REC, None))


def _require(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _is_reachable(folder: str, uid: int, gid: int) -> bool:
    return closed_folder(folder, uid, gid) is None and Path(folder).is_dir()


def closed_folder(folder: str, uid: int, gid: int) -> Path | None:
    """The first folder on the way to ``folder`` that ``uid:gid`` cannot pass."""
    for way in reversed(Path(folder).resolve().parents):
        if not way.is_dir():
            return None
        status = way.stat()
        shift = 6 if status.st_uid == uid else 3 if status.st_gid == gid else 0
        if not status.st_mode >> shift & 1:
            return way
    return None


if __name__ == "__main__":
    signum, parent, uid, gid, niceness = map(int, sys.argv[1:6])
    main(
        signum,
        parent,
        uid,
        gid=gid,
        niceness=niceness,
        reached=sys.argv[6].split(os.pathsep) if sys.argv[6] else [],
        command=sys.argv[7:],
    )
