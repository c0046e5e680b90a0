"""``python -m benchmarks.harness.http_load TASK``: a closed-loop HTTP load generator.

Every reader sends its next request as soon as it has the previous answer. The generator is a separate process with one
thread, so the numbers are the server's, not the client's. Each reader has its own address in the loopback network.
"""

import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field

from benchmarks.harness.isolation import ROOT, Run


@dataclass(frozen=True)
class Load:
    """A request, the number of concurrent readers that repeat it, and the seconds of repetition."""

    port: int
    path: str
    readers: int
    seconds: float
    headers: dict[str, str] = field(default_factory=dict)
    first: int = 0
    """The number of the first reader. It determines the reader's address."""


Answer = tuple[int, float]
"""A status, and the milliseconds until the whole answer had arrived."""


async def _read(load: Load, number: int) -> list[Answer]:
    address = f"127.0.{1 + number // 250}.{1 + number % 250}"
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port, local_addr=(address, 0))
    lines = [f"GET {load.path} HTTP/1.1", "Host: kennel", *(f"{k}: {v}" for k, v in load.headers.items())]
    request = ("\r\n".join(lines) + "\r\n\r\n").encode()
    answers: list[Answer] = []
    end = time.perf_counter() + load.seconds
    while (asked_at := time.perf_counter()) < end:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        await reader.readexactly(int(length[1]) if length else 0)
        answers.append((int(head[9:12]), 1000 * (time.perf_counter() - asked_at)))
    writer.close()
    return answers


async def measure_load(load: Load) -> Run:
    """Run the load. Returns responses per second by status, the number of errors, and latencies in milliseconds."""
    start = time.perf_counter()
    parts = await asyncio.gather(*(_read(load, load.first + number) for number in range(load.readers)))
    seconds = time.perf_counter() - start
    statuses = [status for part in parts for status, _ in part]
    latencies = [latency for part in parts for _, latency in part]
    percentiles = statistics.quantiles(latencies, n=100) if len(latencies) > 1 else latencies * 99
    return {f"status_{status}": statuses.count(status) / seconds for status in set(statuses)} | {
        "seconds": seconds,
        "errors": float(sum(status not in {200, 304} for status in statuses)),
        "per_second": len(latencies) / seconds,
        "median_ms": percentiles[49],
        "p99_ms": percentiles[98],
        "generator_seconds": time.process_time(),
    }


def measure_load_apart(load: Load) -> Run:
    """Run :func:`measure_load` in a separate process."""
    command = [sys.executable, "-m", "benchmarks.harness.http_load", json.dumps(asdict(load))]
    run: Run = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    return run


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure_load(Load(**json.loads(sys.argv[1]))))))
