"""Stored measurements: one JSON file each, raw numbers only, in a folder of the processor that measured them."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.isolation import Run


@dataclass(frozen=True)
class BenchmarkCase:
    """One setting of a measurement: its parameters, and the runs by contender."""

    name: str
    settings: Mapping[str, Any]
    runs: Mapping[str, Sequence[Run]]


@dataclass(frozen=True)
class BenchmarkResult:
    """One measurement, with the machine and versions it was made with."""

    measurement: str
    machine: Mapping[str, str]
    cases: Sequence[BenchmarkCase]

    def case(self, name: str) -> BenchmarkCase | None:
        """The case of that name, or None."""
        return next((case for case in self.cases if case.name == name), None)


def write_result(result: BenchmarkResult, folder: Path) -> None:
    """Store a result, in place of the measurement's earlier one of the same processor; those of others stay.

    Each processor has a folder of its own. Results that were stored before that are moved into theirs.
    """
    former = folder / f"{result.measurement}.json"
    if former.is_file():
        _put(_read(former), folder)
        former.unlink()
    _put(result, folder)


def _put(result: BenchmarkResult, folder: Path) -> None:
    """Store a result in the folder of its processor, unless a newer one is there."""
    path = _path(result, folder)
    if path.is_file() and _date(_read(path)) > _date(result):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(result), indent=1) + "\n")


def read_results(measurement: str, folder: Path) -> list[BenchmarkResult]:
    """The stored results of a measurement, one of each processor, the newest first."""
    paths = [*sorted(folder.glob(f"*/{measurement}.json")), folder / f"{measurement}.json"]
    results = [_read(path) for path in paths if path.is_file()]
    newest_first = sorted(results, key=_date, reverse=True)
    by_processor: dict[str, BenchmarkResult] = {}
    for each in newest_first:
        by_processor.setdefault(each.machine["processor"], each)
    return list(by_processor.values())


def read_result(measurement: str, folder: Path) -> BenchmarkResult | None:
    """The newest stored result of a measurement, or None."""
    return next(iter(read_results(measurement, folder)), None)


def _date(result: BenchmarkResult) -> str:
    return result.machine.get("date", "")


def _read(path: Path) -> BenchmarkResult:
    stored = json.loads(path.read_text())
    return BenchmarkResult(
        stored["measurement"], stored["machine"], [BenchmarkCase(**case) for case in stored["cases"]]
    )


def _path(result: BenchmarkResult, folder: Path) -> Path:
    processor = re.sub(r"[^a-z0-9]+", "-", result.machine["processor"].lower()).strip("-")
    return folder / processor / f"{result.measurement}.json"
