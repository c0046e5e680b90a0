"""Stored measurements: one JSON file each, raw numbers only."""

import json
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
    """Store a result, in place of the measurement's earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(result), indent=1)
    (folder / f"{result.measurement}.json").write_text(text + "\n")


def read_result(measurement: str, folder: Path) -> BenchmarkResult | None:
    """The stored result of a measurement, or None."""
    path = folder / f"{measurement}.json"
    if not path.is_file():
        return None
    stored = json.loads(path.read_text())
    return BenchmarkResult(
        stored["measurement"], stored["machine"], [BenchmarkCase(**case) for case in stored["cases"]]
    )
