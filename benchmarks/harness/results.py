"""Stored results: raw numbers with date, commit, processor and command.

There is one JSON file per benchmark and processor family.
"""

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness.isolation import ROOT, Run

HERE = ROOT / "benchmarks"
RESULTS = HERE / "results"


@dataclass(frozen=True)
class BenchmarkCase:
    """One setting of a benchmark: its parameters, and the runs by contender."""

    name: str
    settings: Mapping[str, Any]
    runs: Mapping[str, Sequence[Run]]

    @property
    def numbers(self) -> Run:
        """The only run of the only contender."""
        ((run,),) = self.runs.values()
        return run


@dataclass(frozen=True)
class BenchmarkResult:
    """One measurement: the command, the machine with date and commit, and the measured numbers."""

    benchmark: str
    command: str
    machine: Mapping[str, str]
    measured: Any
    """A list of :class:`BenchmarkCase`, or another form that only the benchmark knows."""

    @property
    def cases(self) -> list[BenchmarkCase]:
        return [case if isinstance(case, BenchmarkCase) else BenchmarkCase(**case) for case in self.measured]

    @property
    def family(self) -> str:
        """The maker of the processor, such as ``amd``."""
        return re.sub(r"[^a-z].*", "", self.machine["processor"].lower())


def write_result(result: BenchmarkResult, folder: Path = RESULTS) -> None:
    """Store a result. It replaces the benchmark's earlier one of the same processor family."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{result.benchmark}-{result.family}.json").write_text(json.dumps(asdict(result), indent=1) + "\n")


def read_results(benchmark: str, folder: Path = RESULTS) -> list[BenchmarkResult]:
    """The stored results of a benchmark, one per processor family, the newest first."""
    results = [BenchmarkResult(**json.loads(path.read_text())) for path in sorted(folder.glob(f"{benchmark}-*.json"))]
    return sorted(results, key=lambda result: result.machine["date"], reverse=True)


@dataclass(frozen=True)
class Spread:
    median: float
    minimum: float
    maximum: float


def compute_spread(runs: Sequence[Run], key: str = "seconds") -> Spread:
    """Median, minimum and maximum of one number of the runs; ``KeyError`` if a run lacks it."""
    values = [run[key] for run in runs]
    return Spread(statistics.median(values), min(values), max(values))


def compute_median(runs: Sequence[Run], key: str = "seconds") -> float:
    return compute_spread(runs, key).median
