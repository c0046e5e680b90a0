"""A fake clamd that detects the EICAR test file. It speaks INSTREAM on a Unix socket or a loopback port."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

from scorer.clamd import EICAR

LIMIT_REPLY = b"INSTREAM size limit exceeded. ERROR\0"


@dataclass
class FakeClamd:
    """``scanned`` holds the streams it received. ``limit`` is the maximum stream size in bytes (StreamMaxLength)."""

    address: str
    limit: int = 1 << 30
    signature: bytes = EICAR
    hangs_up: bool = False
    scanned: list[bytes] = field(default_factory=list)

    def answer(self, connection: socket.socket) -> None:
        """Read a stream and reply with the finding."""
        with closing(connection), suppress(OSError), connection.makefile("rb") as stream:
            connection.settimeout(30)
            if self.hangs_up:
                return
            assert stream.read(10) == b"zINSTREAM\0"
            content = b""
            while length := int.from_bytes(stream.read(4), "big"):
                content += stream.read(length)
                if len(content) > self.limit:
                    connection.sendall(LIMIT_REPLY)
                    return
            self.scanned.append(content)
            found = self.signature in content
            connection.sendall(b"stream: Eicar-Test-Signature FOUND\0" if found else b"stream: OK\0")


@contextmanager
def running_clamd(folder: Path | None = None) -> Iterator[FakeClamd]:
    """Run a fake clamd on a socket in ``folder``, or on a port if there is no folder."""
    if folder is not None:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(str(folder / "clamd.ctl"))
        listener.listen()
        address = listener.getsockname()
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    server = FakeClamd(address)

    def serve() -> None:
        with suppress(OSError):
            while True:
                server.answer(listener.accept()[0])

    thread = Thread(target=serve, daemon=True)
    thread.start()
    with listener:
        yield server
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(30)
