"""The launcher of a part: drops root, keeps its files private, has it end when the runner dies, executes the command.

It runs as a script between fork and exec, because code in the forked copy of a threaded runner may
deadlock, and because the unprivileged account may be unable to reach this interpreter: root starts
it, and only then becomes that account. Imports nothing of Kennel, so that it starts in milliseconds.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # from Linux's <sys/prctl.h>
CANNOT_EXECUTE = 127  # what a shell answers too
STAY = -1


def main(signum: int, parent: int, uid: int, gid: int, niceness: int, command: list[str]) -> None:
    """Execute ``command`` as ``uid:gid`` (STAY: unchanged), with ``signum`` to it when ``parent`` dies."""
    os.nice(niceness)
    os.umask(0o077)  # blobs, decoded images, databases: what a part writes is private to its account
    if uid != STAY:
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    if sys.platform == "linux":
        # After the change of user, which clears it. On other systems the watchdog alone ends what a dead runner left.
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:  # the runner died before the request took effect
        sys.exit(CANNOT_EXECUTE)
    for ignored_by_python in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored_by_python, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is the point
    except OSError as error:
        print(f"cannot execute {command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(CANNOT_EXECUTE)


if __name__ == "__main__":
    signum, parent, uid, gid, niceness = map(int, sys.argv[1:6])
    main(signum, parent, uid, gid, niceness, sys.argv[6:])
