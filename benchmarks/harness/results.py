"""What was measured, as it is kept: one small JSON file per measurement, raw numbers only."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.isolation import Run


@dataclass(frozen=True)
class BenchmarkCase:
    """One table's worth: the settings, and by contender the runs."""

    name: str
    settings: Mapping[str, Any]
    runs: Mapping[str, Sequence[Run]]


@dataclass(frozen=True)
class BenchmarkResult:
    """One measurement, with the machine and the versions that it was made on."""

    measurement: str
    machine: Mapping[str, str]
    cases: Sequence[BenchmarkCase]

    def case(self, name: str) -> BenchmarkCase | None:
        """The case of that name, if it was measured."""
        return next((case for case in self.cases if case.name == name), None)


def write_result(result: BenchmarkResult, folder: Path) -> None:
    """Keep a result, in place of the same measurement's earlier one."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(asdict(result), indent=1)
    (folder / f"{result.measurement}.json").write_text(text + "\n")


def read_result(measurement: str, folder: Path) -> BenchmarkResult | None:
    """What was kept of a measurement, or None."""
    path = folder / f"{measurement}.json"
    if not path.is_file():
        return None
    kept = json.loads(path.read_text())
    return BenchmarkResult(kept["measurement"], kept["machine"], [BenchmarkCase(**case) for case in kept["cases"]])
