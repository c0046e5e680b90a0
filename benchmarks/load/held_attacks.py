"""How long a visitor waits for a page while an attack is held open, compared with the quiet server of the same run."""

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from unittest.mock import patch

from benchmarks.harness import http_load
from benchmarks.harness.http_load import Load
from benchmarks.harness.isolation import ROOT, Run
from benchmarks.harness.report import MarkdownTable, Section, Target
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.load.service import WEB, LoadedService, running_service

NAME = "held_attacks"
PAGE = "/api/v1/competitions"
MAX_RATIO = 3.0
RATES = '{"request": "1000000/minute"}'
"""The visitor asks more often than a visitor may."""
CHUNKED = "Host: kennel\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
BODY = f"POST /api/v1/session HTTP/1.1\r\n{CHUNKED}"
QUIET = "nothing"


@dataclass(frozen=True)
class Size:
    """How long the page is read during each attack, and how many addresses, and connections of each, make it."""

    seconds: float = 10.0
    addresses: int = 8
    connections: int = 250
    sent_bytes: int = 4 << 20
    """By the first connection of each address; the others stop before a limit."""


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
"""What each connection sends, and what it then repeats."""


def measure(size: Size) -> list[BenchmarkCase]:
    """One case for each attack."""
    with patch.dict(os.environ, KENNEL_RATES=RATES), running_service(WEB) as service:
        _read(service, min(2.0, size.seconds))
        runs = {name: _read_during(service, number, name, size) for number, name in enumerate(ATTACKS)}
    return [BenchmarkCase(name, dict(vars(size)), {"Kennel": [run]}) for name, run in runs.items()]


def _read_during(service: LoadedService, number: int, name: str, size: Size) -> Run:
    """Read the page while an attack is held open."""
    head, repeated = (part.encode() for part in ATTACKS[name])
    with ExitStack() as held:
        connections = 0
        for source in _addresses(number, size) if name != QUIET else ():
            for position in range(size.connections):
                count = (size.sent_bytes if position == 0 else 1 << 14) // max(1, len(repeated))
                held.enter_context(_attack(service.port, source, head + repeated * count))
                connections += 1
        run = _read(service, size.seconds)
    return run | {"connections": float(connections)}


def _addresses(number: int, size: Size) -> Iterator[str]:
    return (f"127.1.{number}.{host + 1}" for host in range(size.addresses))


def _attack(port: int, source: str, data: bytes) -> socket.socket:
    raw = socket.create_connection(("127.0.0.1", port), timeout=5, source_address=(source, 0))
    with suppress(OSError):  # the service has ended it
        raw.sendall(data)
    return raw


def _read(service: LoadedService, seconds: float) -> Run:
    """One visitor reads the page again and again, from a process of its own."""
    command = http_load.command(Load(service.port, PAGE, 1, seconds))
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    run: Run = json.loads(done.stdout)
    refused = sum(rate for key, rate in run.items() if key.startswith("status_") and key != "status_200")
    return run | {"refused": refused * run["seconds"]}


METHOD = """\
One web process as `kennel up` starts it. Attackers from several addresses open connections, send what the row says, the
first of each address more than a limit allows, and stay silent. Meanwhile one visitor asks for the list of competitions
again after each answer, without a rate limit. *Ratio* compares the median with that of the same visitor without an
attack."""


def section(result: BenchmarkResult) -> Section:
    """The table and its targets."""
    runs = {case.name: case.runs["Kennel"][0] for case in result.cases}
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
    return Section("A visitor during an attack", METHOD, [MarkdownTable("", header, rows)], _targets(runs, quiet))


def _targets(runs: dict[str, Run], quiet: float) -> list[Target]:
    ratio = max(run["median_ms"] / quiet for run in runs.values())
    refused = sum(run["refused"] for run in runs.values())
    return [
        Target("longest median during an attack, compared with none", ratio, MAX_RATIO, False),
        Target("refused requests of the visitor", refused, 0, False),
    ]
