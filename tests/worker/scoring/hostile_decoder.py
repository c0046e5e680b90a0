"""A compromised decoding process, which starts like the real one.

An image's text chunk contains the command to run.
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
    """Try actions of an unlimited process. The fault names those that succeed."""
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
    """Write something else before the answer."""
    sys.stdout.write('{"17000": "is mine"}\n')
    sys.stdout.flush()


def claim(slot: int) -> None:
    """Before the answer, write a valid answer about an image that the process did not get."""
    sys.stdout.write(f'{{"faults": {{"{slot}": "is mine"}}, "resized": []}}\n')
    sys.stdout.flush()


def talk() -> None:
    """Write an endless answer."""
    while True:
        sys.stdout.write("x" * (1 << 16))


def colour() -> None:
    """Write an escape sequence for terminals."""
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
    """Run the image's command if it has one, then decode it."""
    _, found, rest = png.partition(COMMAND)
    if found:
        ACTS[rest.partition(b"\0")[0]]()
    return decode(png, size)


def main(*shape: str) -> None:
    """Decode with the hostile decoder."""
    setattr(decoder_process, "decode_png", hostile)  # noqa: B010 - the module does not export it
    decoder_process.main(*shape)
