"""``python -m benchmarks.speed.load TASK``: readers who ask again as soon as they have their answer.

A process of its own with plain sockets and one thread, so that what is measured is the server. Every reader comes from
an address of its own of the loopback network, as readers do: the service counts requests by address.
"""

import json
import selectors
import socket
import statistics
import sys
import time
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Load:
    """What is asked, by how many readers, for how long."""

    port: int
    path: str
    readers: int
    seconds: float
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Reader:
    """One connection: the answer so far, how long it will be, and since when it is awaited."""

    number: int
    load: Load
    answer: bytes = b""
    length: int | None = None
    asked_at: float = 0.0

    def __post_init__(self) -> None:
        self.socket = socket.socket()
        self.socket.bind((f"127.0.{1 + self.number // 250}.{1 + self.number % 250}", 0))
        self.socket.connect(("127.0.0.1", self.load.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = [f"GET {self.load.path} HTTP/1.1", "Host: kennel", *(f"{k}: {v}" for k, v in self.load.headers.items())]
        self.request = ("\r\n".join(lines) + "\r\n\r\n").encode()

    def ask(self) -> None:
        """Send the request."""
        self.answer, self.length, self.asked_at = b"", None, time.perf_counter()
        self.socket.sendall(self.request)

    def take(self) -> int | None:
        """Read on; the status once the answer is complete."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the server has closed a connection")
        self.answer += data
        if self.length is None and (end := self.answer.find(b"\r\n\r\n")) >= 0:
            head = self.answer[:end].lower()
            at = head.find(b"content-length:")
            body = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            self.length = end + 4 + body
        return int(self.answer[9:12]) if self.length is not None and len(self.answer) >= self.length else None


def measure_load(load: Load) -> dict[str, float]:
    """Answers by status a second, and how long they took, in milliseconds."""
    readers = [Reader(number, load) for number in range(load.readers)]
    waits: list[float] = []
    counts: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        for reader in readers:
            selector.register(reader.socket, selectors.EVENT_READ, reader)
            reader.ask()
        begun = time.perf_counter()
        while time.perf_counter() < begun + load.seconds:
            for key, _ in selector.select(1.0):
                status = key.data.take()
                if status is not None:
                    counts[status] = counts.get(status, 0) + 1
                    waits.append(1000 * (time.perf_counter() - key.data.asked_at))
                    key.data.ask()
        seconds = time.perf_counter() - begun
    for reader in readers:
        reader.socket.close()
    found = {f"status_{status}": count / seconds for status, count in counts.items()}
    cuts = statistics.quantiles(waits, n=100) if len(waits) > 1 else [max(waits, default=0.0)] * 99
    return found | {
        "seconds": seconds,
        "per_second": len(waits) / seconds,
        "median_ms": cuts[49],
        "p99_ms": cuts[98],
        "generator_seconds": time.process_time(),
    }


def main() -> None:
    """Do the load given as JSON and print what was found."""
    print(json.dumps(measure_load(Load(**json.loads(sys.argv[1])))))


def command(load: Load) -> list[str]:
    """How to run it."""
    return [sys.executable, "-m", "benchmarks.speed.load", json.dumps(asdict(load))]


if __name__ == "__main__":
    main()
