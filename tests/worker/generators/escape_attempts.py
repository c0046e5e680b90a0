"""A process that confines itself and then tries to escape. It prints every attempt with its error or ``done``, as JSON.

Run it as ``python -P escape_attempts.py REQUEST`` with a JSON object:

- ``folder``: the process's own folder
- ``outside``: a folder with the file ``victim``, both open to everybody
- ``process`` and ``port``: another process
- ``without``: measures to leave out
- ``threads``: the limit of threads
- ``only``: the attempts to make, unconfined; all if empty

It needs only the standard library and the confinement.
"""

import ctypes
import encodings.idna  # noqa: F401 - a confined process can't import modules
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scorer.confinement import landlock, process, seccomp

LIBC = ctypes.CDLL(None, use_errno=True)
MEMORY_BYTES = 256 << 20
MANY_THREADS = 3000
_OFF: dict[str, tuple[object, str]] = {
    "network_namespace": (process, "_unshare"),
    "file_access": (landlock, "open_only"),
    "system_call_filter": (seccomp, "allow_listed"),
    "unprivileged_user": (process, "become_unprivileged"),
}


def call(number: int, *arguments: int | bytes | None) -> None:
    """Make a system call; ``OSError`` if it fails."""
    if LIBC.syscall(number, *arguments) == -1:
        raise OSError(ctypes.get_errno(), f"system call {number}")


def attempts(own: Path, outside: Path, other: int, port: int) -> dict[str, Callable[[], object]]:
    """By name: the attempts that a compromised process could make."""
    victim = outside / "victim"
    path = os.fsencode(victim)
    return {
        "connect": lambda: socket.create_connection(("127.0.0.1", port), timeout=5).close(),
        "socket": lambda: socket.socket().close(),
        "socketpair": socket.socketpair,
        "abstract-socket": lambda: socket.socket(socket.AF_UNIX).bind("\0kennel-escape"),
        "program": lambda: subprocess.run(["/bin/true"], check=True),
        "fork": lambda: os.fork() or os._exit(0),
        "signal": lambda: os.kill(other, 0),
        "thread-signal": lambda: call(234, other, other, 0),
        "queued-signal": lambda: call(129, other, 0, bytes(128)),
        "signal-by-descriptor": lambda: fcntl.fcntl(0, fcntl.F_SETOWN, other),
        "process-descriptor": lambda: os.close(os.pidfd_open(other)),
        "limits": lambda: resource.prlimit(other, resource.RLIMIT_CORE),
        "trace": lambda: call(101, 0x4206, other, 0, 0),
        "read-memory": lambda: call(310, other, bytes(16), 0, bytes(16), 0, 0),
        "priority": lambda: os.sched_setaffinity(other, os.sched_getaffinity(0)),
        "memory-of-another": lambda: os.close(os.open(f"/proc/{other}/mem", os.O_RDWR)),
        "environment": lambda: Path(f"/proc/{other}/environ").read_bytes(),
        "list-processes": lambda: os.listdir("/proc"),  # noqa: PTH208
        "read": victim.read_bytes,
        "read-system": lambda: Path("/etc/passwd").read_bytes(),
        "write": lambda: victim.write_bytes(b"x"),
        "create": (outside / "new").touch,
        "truncate": lambda: os.truncate(victim, 0),
        "open-truncating": lambda: os.close(os.open(victim, os.O_RDONLY | os.O_TRUNC)),
        "remove": lambda: call(263, -100, os.fsencode(outside / "spare"), 0),
        "rename": lambda: (outside / "spare").rename(outside / "other"),
        "mode": lambda: victim.chmod(0o777),
        "mode-raw": lambda: call(90, path, 0o777),
        "owner": lambda: os.chown(victim, -1, -1),
        "times": lambda: os.utime(victim, (0, 0)),
        "attribute": lambda: os.setxattr(victim, "user.kennel", b"x"),
        "link": lambda: os.link(victim, own / "link"),
        "symbolic-link": lambda: (own / "symlink").symlink_to(victim),
        "pipe": lambda: os.mkfifo(own / "pipe"),
        "folder": (own / "folder").mkdir,
        "own-new-file": (own / "new").touch,
        "own-input": lambda: (own / "input").write_text("x"),
        "memory-file": lambda: os.memfd_create("x"),
        "namespace": lambda: call(272, 0x10000000),
        "mount": lambda: call(165, b"none", os.fsencode(outside), b"tmpfs", 0, None),
        "root": lambda: os.chroot(outside),
        "user": lambda: call(117, 0, 0, 0),  # glibc aborts if not all threads can change their user
        "module": lambda: call(175, b"", 0, b""),
        "restart": lambda: call(169, 0, 0, 0, None),
        "ring": lambda: call(425, 1, bytes(120)),
        "bpf": lambda: call(321, 0, bytes(128), 128),
        "keys": lambda: call(250, 0, -3, 1),
        "outlive-parent": lambda: call(157, 1, 0, 0, 0, 0),
    }


def threads_started() -> int:
    """The number of threads that can run at the same time."""
    threading.stack_size(64 << 10)
    end = threading.Event()
    started: list[threading.Thread] = []
    try:
        while len(started) < MANY_THREADS:
            thread = threading.Thread(target=end.wait)
            thread.start()
            started.append(thread)
    except RuntimeError:
        pass
    end.set()
    for thread in started:
        thread.join()
    return len(started)


def outcome(do: Callable[[], object]) -> str:
    """``done``, or the name of the error."""
    try:
        do()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return "done"


def main(request: dict[str, Any]) -> None:
    """Confine this process as requested, then make the attempts."""
    own, outside = Path(request["folder"]), Path(request["outside"])
    for measure in request["without"]:
        module, name = _OFF[measure]
        setattr(module, name, lambda *_, **__: False)
    tries = attempts(own, outside, request["process"], request["port"])
    if request["only"]:  # unconfined, to show that the attempts work
        sys.stdout.write(json.dumps({name: outcome(tries[name]) for name in request["only"]}))
        return
    process.limit_memory(MEMORY_BYTES)
    measures = process.confine(own, written=["result"], written_bytes=1000, open_files=64, threads=request["threads"])
    outcomes = {name: outcome(do) for name, do in tries.items()}
    own_ones = {
        "own-result": lambda: Path("result").write_text("x"),
        "own-read": Path("input").read_bytes,
        "own-signal": lambda: signal.pthread_kill(threading.get_ident(), signal.SIGCONT),
        "own-limits": lambda: resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000)),
        "too-large": lambda: Path("result").write_bytes(bytes(1001)),
        "memory": lambda: bytearray(2 * MEMORY_BYTES),
    }
    for name, do in own_ones.items():
        try:
            outcomes[name] = outcome(do)
        except MemoryError:
            outcomes[name] = "MemoryError"
    found = {"measures": measures, "outcomes": outcomes, "threads": threads_started(), "user": os.getuid()}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
