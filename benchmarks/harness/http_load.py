"""``python -m benchmarks.harness.http_load TASK``: a closed-loop HTTP load generator.

Every reader sends its next request as soon as it has the answer to the last. The generator is a separate process with
plain sockets and one thread, so that the server is measured and not the client. Each reader has its own address in the
loopback network.
"""

import json
import selectors
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

from benchmarks.harness.isolation import ROOT, Run


@dataclass(frozen=True)
class Load:
    """A request, the number of concurrent readers that repeat it, and for how many seconds."""

    port: int
    path: str
    readers: int
    seconds: float
    headers: dict[str, str] = field(default_factory=dict)
    first: int = 0
    """The number of the first reader, from which follows its address."""


@dataclass
class Reader:
    """One connection: the response so far, its expected length, and when its request was sent."""

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
        self.answer = b""
        self.length = None
        self.asked_at = time.perf_counter()
        self.socket.sendall(self.request)

    def take(self) -> int | None:
        """Receive more of the response; its status once it is complete, else None."""
        data = self.socket.recv(1 << 18)
        if not data:
            raise ConnectionError("the server has closed a connection")
        self.answer += data
        if self.length is None and (end := self.answer.find(b"\r\n\r\n")) >= 0:
            head = self.answer[:end].lower()
            field_start = head.find(b"content-length:")
            body = int(head[field_start + 15 :].split(b"\r\n", 1)[0]) if field_start >= 0 else 0
            self.length = end + 4 + body
        return int(self.answer[9:12]) if self.length is not None and len(self.answer) >= self.length else None


def measure_load(load: Load) -> Run:
    """Run the load: responses per second by status, how many were errors, and latencies in milliseconds."""
    readers = [Reader(load.first + number, load) for number in range(load.readers)]
    latencies: list[float] = []
    counts: dict[int, int] = {}
    with selectors.DefaultSelector() as selector:
        for reader in readers:
            selector.register(reader.socket, selectors.EVENT_READ, reader)
            reader.ask()
        start = time.perf_counter()
        while time.perf_counter() < start + load.seconds:
            for key, _ in selector.select(1.0):
                asked: Reader = key.data
                status = asked.take()
                if status is None:
                    continue
                counts[status] = counts.get(status, 0) + 1
                latencies.append(1000 * (time.perf_counter() - asked.asked_at))
                asked.ask()
        seconds = time.perf_counter() - start
    for reader in readers:
        reader.socket.close()
    rates = {f"status_{status}": count / seconds for status, count in counts.items()}
    percentiles = statistics.quantiles(latencies, n=100) if len(latencies) > 1 else [max(latencies, default=0.0)] * 99
    return rates | {
        "seconds": seconds,
        "errors": float(sum(count for status, count in counts.items() if status not in {200, 304})),
        "per_second": len(latencies) / seconds,
        "median_ms": percentiles[49],
        "p99_ms": percentiles[98],
        "generator_seconds": time.process_time(),
    }


def measure_load_apart(load: Load) -> Run:
    """:func:`measure_load` in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.harness.http_load", json.dumps(asdict(load))]
    run: Run = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    return run


if __name__ == "__main__":
    print(json.dumps(measure_load(Load(**json.loads(sys.argv[1])))))
