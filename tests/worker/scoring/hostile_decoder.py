"""A decoding process whose decoder was taken over, started as the real one.

What it does with an image is said in the image's text chunk.
"""

import ctypes
import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from kennel_client.archive.faults import MemberError
from scorer.archive import decoder_process, png_pixels

decode = png_pixels.decode_png
COMMAND = b"kennel-does\0"
WRITTEN = Path(gettempdir()) / "kennel-hostile-decoder"


def attempt() -> None:
    """Try what a process without limits can do; the fault says what it could."""
    attempts: dict[str, Callable[[], object]] = {
        "read": lambda: Path("/etc/passwd").read_bytes(),
        "write": lambda: WRITTEN.write_text("x"),
        "environment": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "socket": lambda: socket.create_connection(("127.0.0.1", 9), timeout=1),
        "fork": lambda: os.fork() or os._exit(0),
        "signal": lambda: os.kill(os.getppid(), 0),
    }
    done = []
    for name, act in attempts.items():
        try:
            act()
        except OSError:
            continue
        done.append(name)
    raise MemberError(f"could {' '.join(done) or 'nothing'}")


def lie() -> None:
    """Answer something else before the answer."""
    sys.stdout.write('{"17000": "is mine"}\n')
    sys.stdout.flush()


def claim(slot: int) -> None:
    """Answer in the form of an answer, about an image that it was not given, before the answer."""
    sys.stdout.write(f'{{"faults": {{"{slot}": "is mine"}}, "resized": []}}\n')
    sys.stdout.flush()


def talk() -> None:
    """Answer without an end."""
    while True:
        sys.stdout.write("x" * (1 << 16))


def colour() -> None:
    """Say something that a terminal would obey."""
    raise MemberError("is \x1b[31mred")


ACTS: dict[bytes, Callable[[], Any]] = {
    b"crash": lambda: ctypes.string_at(0),
    b"hang": lambda: time.sleep(3600),
    b"bomb": lambda: bytearray(1 << 30),
    b"attempt": attempt,
    b"lie": lie,
    b"claim": lambda: claim(17000),
    b"talk": talk,
    b"colour": colour,
}


def hostile(png: bytes, size: int) -> Any:
    """Do what the image asks for, else decode it."""
    _, found, rest = png.partition(COMMAND)
    if found:
        ACTS[rest.partition(b"\0")[0]]()
    return decode(png, size)


def main(*shape: str) -> None:
    """Decode with the hostile decoder."""
    setattr(decoder_process, "decode_png", hostile)  # noqa: B010 - it exports none
    decoder_process.main(*shape)
