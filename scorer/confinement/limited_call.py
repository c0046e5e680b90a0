"""A function called in a limited process: an untrusted file can only spoil its own call.

The process imports the function, gives up files, network, programs and privileges, and only then reads bytes and
arguments (JSON) from standard input. The answer goes to memory of bounded size.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from threading import BoundedSemaphore
from typing import Any, BinaryIO

from scorer.confinement.fork_server import start_process
from scorer.confinement.process import confine, limit_memory, limit_processor_time
from scorer.confinement.refusals import encode_refusal, error_from
from scorer.errors import Invalid, KennelError, Unavailable

SECONDS = 60.0
"""Processor time and wall time of a call: hundreds of times what honest files need."""
WAIT_SECONDS = 60.0
"""How long a call waits for its turn, in seconds."""
MAX_ANSWER_BYTES = 1 << 20
_READY = b"confined"
_STANDARD_STREAMS = 3


class Turns:
    """The limited processes that this process may have at the same time."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._free = BoundedSemaphore(number)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn and keep it; ``Unavailable`` (``busy``) after a minute."""
        if not self._free.acquire(timeout=WAIT_SECONDS):
            raise Unavailable("busy", "Too many files are being read. Please try again in a moment.")
        try:
            yield
        finally:
            self._free.release()


@dataclass(frozen=True)
class Purpose:
    """A kind of file for limited processes: the memory each may use beyond twice the file's bytes, and their turns."""

    memory_bytes: int
    turns: Turns


SMALL, LARGE = Turns(4), Turns(1)
"""The turns for participants' files, and for organizers' files and reference images, which need far more memory."""
DIRECTORY, NOTEBOOK = Purpose(128 << 20, SMALL), Purpose(32 << 20, SMALL)
LARGE_DIRECTORY = Purpose(1 << 30, LARGE)


def call_limited(
    function: Callable[..., Any],
    read: Callable[[], Sequence[bytes]],
    *arguments: Any,
    purpose: Purpose,
    seconds: float = SECONDS,
) -> Any:
    """``function(read(), *arguments)`` in a separate process; arguments and result are JSON. ``read`` is called in this
    process when it is this call's turn.

    Raises the function's errors about the bytes (``Invalid``, ``TooLarge``) with cleaned texts. Raises ``Invalid``
    (``unreadable``) if they end the process or need more time or memory than it has, ``Unavailable`` (``busy``) if
    there is no turn, and ``RuntimeError`` if the process did not start.
    """
    with purpose.turns.turn():
        return _call(function, read(), arguments, memory_bytes=purpose.memory_bytes, seconds=seconds)


def _call(
    function: Callable[..., Any], parts: Sequence[bytes], arguments: Sequence[Any], *, memory_bytes: int, seconds: float
) -> Any:
    request = {
        "arguments": arguments,
        "sizes": [len(part) for part in parts],
        "memory_bytes": memory_bytes,
        "seconds": int(seconds),
    }
    with (
        _memory("kennel-request") as request_file,
        _memory("kennel-answer") as answered,
        _memory("kennel-start") as started,
    ):
        for part in (json.dumps(request).encode(), b"\n", *parts):
            request_file.write(part)
        request_file.seek(0)
        files = [request_file.fileno(), answered.fileno(), started.fileno()]
        process = start_process(__name__, [function.__module__, function.__name__], files)
        try:
            ended = process.wait(seconds)
        finally:
            process.close()
        answer = os.pread(answered.fileno(), MAX_ANSWER_BYTES, 0)
        start = os.pread(started.fileno(), MAX_ANSWER_BYTES, 0)
    if not ended:
        raise _unreadable("took too long to read")
    if start != _READY:
        raise RuntimeError(f"the process that reads a file did not start: {start[-2000:]!r}")
    return _result(answer)


def _memory(name: str) -> BinaryIO:
    return open(os.memfd_create(name, os.MFD_CLOEXEC), "r+b", buffering=0)  # noqa: PTH123 - it has no path


def _result(answer: bytes) -> Any:
    try:
        fields = json.loads(answer)
        if "refusal" not in fields:
            return fields["result"]
        refusal = error_from(dict(fields["refusal"]), default_slug="unreadable")
    except (ValueError, TypeError, KeyError, RecursionError):
        refusal = _unreadable("crashed the process that read it")
    raise refusal


def _unreadable(how: str) -> Invalid:
    return Invalid("unreadable", f"The file {how}.")


def main(module: str, name: str) -> None:
    """Answer one call with the bytes and arguments on standard input."""
    function = getattr(import_module(module), name)
    request = json.loads(sys.stdin.buffer.readline())
    limit_memory(request["memory_bytes"] + 2 * sum(request["sizes"]))
    limit_processor_time(request["seconds"])
    confine(written_bytes=MAX_ANSWER_BYTES, open_files=_STANDARD_STREAMS)
    os.write(2, _READY)
    os.close(2)  # if an attacker takes this process over later, it cannot deny that it started
    try:
        parts = [sys.stdin.buffer.read(size) for size in request["sizes"]]
        answer = {"result": function(parts, *request["arguments"])}
    except KennelError as error:
        answer = {"refusal": encode_refusal(error)}
    except MemoryError:
        answer = {"refusal": encode_refusal(_unreadable("needs too much memory to read"))}
    os.write(1, json.dumps(answer).encode())
