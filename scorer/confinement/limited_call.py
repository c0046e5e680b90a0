"""A function called in a limited process of its own: what an untrusted file does there costs its own call alone.

The process imports the function, gives up files, network, programs and privileges, and only then reads bytes and
arguments (JSON) from standard input. The answer goes to memory of bounded size.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, BinaryIO

from scorer.confinement.fork_server import start_process
from scorer.confinement.process import confine, limit_memory, limit_processor_time
from scorer.confinement.refusals import error_from, refusal_of
from scorer.errors import Invalid, KennelError

SECONDS = 60.0
"""Processor time and wall time of a call: hundreds of times what honest files need."""
MEMORY_BYTES = 1 << 30
MAX_ANSWER_BYTES = 1 << 20
_READY = b"confined\n"
_STANDARD_STREAMS = 3


def call_limited(
    function: Callable[..., Any], parts: Sequence[bytes], *arguments: Any, seconds: float = SECONDS
) -> Any:
    """``function(parts, *arguments)`` in a process of its own; arguments and result are JSON.

    Raises what the function refuses the bytes with (``Invalid``, ``TooLarge``), its texts cleaned; ``Invalid``
    (``unreadable``) if they end the process, or take more time or memory than it has; ``RuntimeError`` if the process
    did not start.
    """
    request = json.dumps({"arguments": arguments, "sizes": [len(part) for part in parts], "seconds": int(seconds)})
    with _memory("kennel-request") as asked, _memory("kennel-answer") as answered:
        asked.write(b"".join((request.encode(), b"\n", *parts)))
        asked.seek(0)
        files = [asked.fileno(), answered.fileno(), answered.fileno()]
        process = start_process(__name__, [function.__module__, function.__name__], files)
        try:
            ended = process.wait(seconds)
        finally:
            process.close()
        answer = os.pread(answered.fileno(), MAX_ANSWER_BYTES, 0)
    if not ended:
        raise _unreadable("took too long to read")
    if not answer.startswith(_READY):
        raise RuntimeError(f"the process that reads a file did not start: {answer[-2000:]!r}")
    return _result(answer.removeprefix(_READY))


def _memory(name: str) -> BinaryIO:
    return open(os.memfd_create(name, os.MFD_CLOEXEC), "r+b", buffering=0)  # noqa: PTH123 - it has no path


def _result(answer: bytes) -> Any:
    try:
        told = dict(json.loads(answer))
    except (ValueError, TypeError, RecursionError):
        raise _unreadable("ended the process that reads it") from None
    if "refusal" in told:
        raise error_from(dict(told["refusal"]), default_slug="unreadable")
    return told.get("result")


def _unreadable(how: str) -> Invalid:
    return Invalid("unreadable", f"The file {how}.")


def main(module: str, name: str) -> None:
    """Answer one call, whose bytes and arguments are on standard input."""
    function = getattr(import_module(module), name)
    request = json.loads(sys.stdin.buffer.readline())
    limit_memory(MEMORY_BYTES + 2 * sum(request["sizes"]))
    limit_processor_time(request["seconds"])
    confine(written_bytes=MAX_ANSWER_BYTES, open_files=_STANDARD_STREAMS)
    os.write(1, _READY)
    try:
        parts = [sys.stdin.buffer.read(size) for size in request["sizes"]]
        answer = {"result": function(parts, *request["arguments"])}
    except KennelError as error:
        answer = {"refusal": refusal_of(error)}
    except MemoryError:
        answer = {"refusal": refusal_of(_unreadable("takes more memory to read than it may"))}
    os.write(1, json.dumps(answer).encode())
