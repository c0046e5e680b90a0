"""A visitor's wait for a page during an open attack, compared with the idle server in the same run."""

import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from benchmarks.harness.http_load import Load, measure_load_apart
from benchmarks.harness.isolation import Run
from benchmarks.harness.report import Findings, MarkdownTable, Target
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.load.service import NO_RATES, WEB, LoadedService, running_service

PAGE = "/api/v1/competitions"
MAX_RATIO = 3.0
CHUNKED = "Host: kennel\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = f"POST /api/v1/session HTTP/1.1\r\n{CHUNKED}"
QUIET = "nothing"


@dataclass(frozen=True)
class Size:
    """The seconds of reading during each attack, the attacking addresses, and the connections of each."""

    seconds: float = 10.0
    addresses: int = 8
    connections: int = 250
    sent_bytes: int = 4 << 20
    """Sent by the first connection of each address; the others stop before a limit."""


FULL = Size()
QUICK = Size(seconds=0.5, addresses=2, connections=10, sent_bytes=1 << 18)
ATTACKS = {
    QUIET: ("", ""),
    "silent connections": ("GET / HTT", ""),
    "headers": ("GET / HTTP/1.1\r\n", "x: y\r\n"),
    "a long header": ("GET / HTTP/1.1\r\nx: ", "abcd"),
    "trailers": (f"{BODY}0\r\n", "x: abcd\r\n"),
    "a long trailer": (f"{BODY}0\r\nx: ", "abcd"),
    "a chunk's extension": (f"{BODY}1;", "abcd"),
    "bodies": (BODY, f"1000\r\n{'x' * 0x1000}\r\n"),
}
"""The bytes that each connection sends first, and the bytes that it then repeats."""


def measure(size: Size, *_: object) -> list[BenchmarkCase]:
    with running_service(WEB, KENNEL_RATES=NO_RATES) as service:
        _read(service, min(2.0, size.seconds))
        runs = {name: _read_during(service, number, name, size=size) for number, name in enumerate(ATTACKS)}
    return [BenchmarkCase(name, dict(vars(size)), {"Kennel": [run]}) for name, run in runs.items()]


def _read_during(service: LoadedService, number: int, name: str, *, size: Size) -> Run:
    head, repeated = (part.encode() for part in ATTACKS[name])
    with ExitStack() as held:
        connections = 0
        sources = [f"127.1.{number}.{host + 1}" for host in range(size.addresses)]
        for source in sources if name != QUIET else ():
            for position in range(size.connections):
                count = (size.sent_bytes if position == 0 else 1 << 14) // max(1, len(repeated))
                held.enter_context(_attack(service.port, source, head + repeated * count))
                connections += 1
        run = _read(service, size.seconds)
    return run | {"connections": float(connections)}


def _attack(port: int, source: str, data: bytes) -> socket.socket:
    raw = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=(source, 0))
    with suppress(OSError):  # the service has closed it
        raw.sendall(data)
    return raw


def _read(service: LoadedService, seconds: float) -> Run:
    """Let one visitor read the page repeatedly, from a separate process."""
    run = measure_load_apart(Load(service.port, PAGE, 1, seconds))
    return run | {"refused": run["errors"]}


def findings(result: BenchmarkResult) -> Findings:
    runs = {case.name: case.numbers for case in result.cases}
    quiet = runs[QUIET]["median_ms"]
    rows = [
        (
            name,
            f"{run['connections']:.0f}",
            f"{run['median_ms']:.1f}",
            f"{run['p99_ms']:.1f}",
            f"{run['median_ms'] / quiet:.2f}",
        )
        for name, run in runs.items()
    ]
    header = ("attack", "connections", "median, ms", "p99, ms", "ratio")
    ratio = max(run["median_ms"] / quiet for run in runs.values())
    targets = [
        Target("longest median during an attack, compared with no attack", ratio, MAX_RATIO, False),
        Target("refused requests of the visitor", sum(run["refused"] for run in runs.values()), 0, False),
    ]
    return Findings([MarkdownTable("", header, rows)], targets)
