"""What the machine does without the service: answers over loopback, and bytes written to disk."""

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

from benchmarks.harness.http_load import Load, measure_load

PIECE_BYTES = 4 << 20
SERVER = """
import selectors, socket, sys
answer = b"HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n" % int(sys.argv[1]) + bytes(int(sys.argv[1]))
listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
print(listener.getsockname()[1], flush=True)
with selectors.DefaultSelector() as selector:
    selector.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection, selectors.EVENT_READ)
                continue
            try:
                if key.fileobj.recv(65536):
                    key.fileobj.sendall(answer)
                    continue
            except ConnectionError:
                pass
            selector.unregister(key.fileobj)
            key.fileobj.close()
"""
"""Answers every piece of a request with the same bytes, in one thread."""


def loopback_rate(answer_bytes: int, readers: int, seconds: float) -> float:
    """Answers of this size a second from a process that does nothing else, to the load generator's readers."""
    with subprocess.Popen([sys.executable, "-c", SERVER, str(answer_bytes)], stdout=subprocess.PIPE, text=True) as raw:
        try:
            port = int(raw.stdout.readline()) if raw.stdout else 0
            return measure_load(Load(port, "/", readers, seconds))["per_second"]
        finally:
            raw.kill()


def disk_rate(folder: Path, total_bytes: int) -> float:
    """Bytes a second of one file written in pieces and synchronised at its end."""
    path = folder / "disk-rate"
    piece = os.urandom(PIECE_BYTES)
    begun = time.perf_counter()
    try:
        with path.open("wb") as file:
            for _ in range(max(1, total_bytes // PIECE_BYTES)):
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        return path.stat().st_size / (time.perf_counter() - begun)
    finally:
        path.unlink(missing_ok=True)


def stream_rate(total_bytes: int) -> float:
    """Bytes a second through one loopback connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    piece = bytes(1 << 18)

    def send() -> None:
        with socket.create_connection(listener.getsockname()) as sender:
            for _ in range(total_bytes // len(piece)):
                sender.sendall(piece)

    thread = threading.Thread(target=send)
    begun = time.perf_counter()
    thread.start()
    received = 0
    with listener, listener.accept()[0] as connection:
        while data := connection.recv(1 << 18):
            received += len(data)
    thread.join()
    return received / (time.perf_counter() - begun)
