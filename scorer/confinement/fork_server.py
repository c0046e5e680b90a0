"""A fork server: a process that has imported what limited processes need, and forks one on request.

Starting Python and importing NumPy and Pillow takes 0.2 s of processor time; a fork takes a few milliseconds. The
server has neither the environment nor the files of the process that it serves, and never reads a byte of an upload.

The processes of one server start with the same memory layout. So a server is replaced after one of its processes has
crashed: an attacker who tries to take over a decoder by guessing addresses finds other addresses each time.

``python -m scorer.confinement.fork_server DESCRIPTOR`` is the server. It ends when nobody holds the other end of its
connection.
"""

import fcntl
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from scorer.confinement.import_path import IMPORT_PATH

PREPARED = (
    "scorer.confinement.limited_call",
    "kennel_client.archive.directory_checks",
    "scorer.archive.limited_listing",
    "scorer.archive.decoder_process",
    "scorer.evidence.notebooks",
    *(f"PIL.{name}ImagePlugin" for name in ("Bmp", "Gif", "Jpeg", "Ppm", "Png")),
)
"""The modules that the server imports when it starts, including those with which Pillow opens its first image.
Processes import anything else themselves."""
MAX_FILES = 4
_MAX_MESSAGE_BYTES = 1 << 12
_START_SECONDS = 120.0
_HIGH_DESCRIPTOR = 64
_ENVIRONMENT = {"PYTHONPATH": IMPORT_PATH, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
_FORKED, _LEAVE = b"forked", b"leave"
_EXPECTED_SIGNALS = {signal.SIGKILL, signal.SIGXCPU}
"""Signals that end a process without a crash: sent by its owner or the system, or by its limit of processor time."""


class ForkedProcess:
    def __init__(self, server: "_ForkServer", descriptor: int) -> None:
        self._server = server  # keeps the server alive until its last process is closed
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)

    def wait(self, seconds: float) -> bool:
        """Wait at most this long for it to end. Returns whether it has."""
        ended = select.poll()
        ended.register(self._descriptor, select.POLLIN)
        return bool(ended.poll(1000 * seconds))

    def close(self) -> None:
        """End it, if it has not ended yet."""
        try:
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended
        else:
            self.wait(_START_SECONDS)
        os.close(self._descriptor)


def start_process(module: str, arguments: Sequence[str], files: Sequence[int]) -> ForkedProcess:
    """Call ``module.main(*arguments)`` in a separate process. The process has at most four open ``files``, as its
    descriptors from 0: standard input, output and error, and one more.

    Raises ``RuntimeError`` if no process starts. Errors in the module go to standard error.
    """
    message = json.dumps([module, *arguments]).encode()
    for _ in range(2):
        server = _current_server()
        try:
            process = server.fork(message, files)
        except OSError:
            process = None
        if process is not None:
            return process
        _forget(server)
    raise RuntimeError("the fork server of limited processes did not start a process")


_lock = threading.Lock()
_server: "_ForkServer | None" = None


def _current_server() -> "_ForkServer":
    """The server of this process. A forked process has a different server from its parent."""
    global _server  # noqa: PLW0603 - one for all threads
    with _lock:
        if _server is None or _server.owner != os.getpid():
            _server = _ForkServer()
        return _server


def _forget(server: "_ForkServer") -> None:
    global _server  # noqa: PLW0603 - one for all threads
    with _lock:
        if _server is server:
            _server = None


class _ForkServer:
    """The server's process, as seen by the process that it serves."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._turn = threading.Lock()
        self._connection, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-P", "-s", "-m", __name__, str(other.fileno())],
                env=_ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(other.fileno(),),
            )
        self._connection.settimeout(_START_SECONDS)
        weakref.finalize(self, _end, self._connection, process)

    def fork(self, message: bytes, files: Sequence[int]) -> ForkedProcess | None:
        """A new process; None if this server must be replaced. ``OSError`` if it does not answer."""
        with self._turn:
            socket.send_fds(self._connection, [message], list(files))
            answer, descriptors, _, _ = socket.recv_fds(self._connection, _MAX_MESSAGE_BYTES, 1)
        if answer != _FORKED:
            return None
        return ForkedProcess(self, descriptors[0])


def _end(connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
    """End the server. In a fork of its owner, which is not its parent, only close the connection."""
    connection.close()
    process.kill()  # sends nothing to a process that is not a child
    process.wait()


def main(descriptor: int) -> None:
    """Serve until the other end of the connection is closed."""
    connection = socket.socket(fileno=fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH_DESCRIPTOR))
    os.close(descriptor)
    for number in (signal.SIGINT, signal.SIGTERM):  # a terminal, or systemd, sends them to all processes of a service
        signal.signal(number, signal.SIG_IGN)  # the served process finishes its work and then closes the connection
    crashes: list[int] = []
    signal.signal(signal.SIGCHLD, lambda *_: crashes.extend(_reap()))
    for module in PREPARED:
        import_module(module)
    gc.freeze()  # forks don't copy memory that is never collected
    while True:
        message, files, _, _ = socket.recv_fds(connection, _MAX_MESSAGE_BYTES, MAX_FILES)
        if not message:
            return
        if crashes:
            connection.send(_LEAVE)
        else:
            _fork(connection, json.loads(message), files)
        for file in files:
            os.close(file)


def _reap() -> list[int]:
    """Reap the processes that have ended, and return those that have crashed."""
    crashed: list[int] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return crashed
        if pid == 0:
            return crashed
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) not in _EXPECTED_SIGNALS:
            crashed.append(pid)


def _fork(connection: socket.socket, words: Sequence[str], files: Sequence[int]) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # or it could be reaped before it has a descriptor
    pid = os.fork()
    if pid == 0:
        connection.close()
        _become(words, files)
    descriptor = os.pidfd_open(pid)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    socket.send_fds(connection, [_FORKED], [descriptor])
    os.close(descriptor)


def _become(words: Sequence[str], files: Sequence[int]) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for number, file in enumerate(files):
            os.dup2(file, number)  # received files start at 3, so none is overwritten
        os.closerange(len(files), max(files) + 1)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, closefd=False)  # noqa: SIM115 - open as long as the process lives
            for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        module, *arguments = words
        import_module(module).main(*arguments)
        sys.stdout.flush()
        status = 0
    except BaseException:  # noqa: BLE001 - the process ends here
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


if __name__ == "__main__":
    main(int(sys.argv[1]))
