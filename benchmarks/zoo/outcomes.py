"""The stored results of the zoo: one JSON file for each seed, from which figures and page are made."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.zoo.entries import METHODS, Title
from benchmarks.zoo.plan import FIXING, ZooPlan
from benchmarks.zoo.spaces import SpaceReading
from scorer.findings.finding import EVIDENCE_VERSION
from scorer.lifecycle import TrackKind


@dataclass(frozen=True)
class TrainingError:
    """How far a network's images are from the training images that it was trained to draw again, in grey levels."""

    root_mean_square: float
    mean: float
    """The mean of the absolute differences."""


@dataclass(frozen=True)
class Outcome:
    """An entry's scores and evidence by track; ``error`` is None unless a network was trained to draw it again."""

    title: Title
    error: TrainingError | None
    readings: Mapping[TrackKind, SpaceReading]


@dataclass(frozen=True)
class SeedResult:
    """All outcomes of one seed, with the machine, sizes and extractors that they depend on."""

    seed: int
    definition: Mapping[str, Any]
    """What the outcomes are determined by, but for the machine: another one makes other outcomes."""
    machine: Mapping[str, str]
    seconds: Mapping[str, float]
    """Processor time of each training, in seconds."""
    counts: Mapping[str, int]
    """Numbers of images by kind: those of the reference, ``entry`` and ``photographs``."""
    extractors: Mapping[TrackKind, str]
    """Extractor by track."""
    fresh: Mapping[TrackKind, float]
    """Memorization distance of the held-out images by track."""
    cells: Mapping[TrackKind, int]
    """Number of cells for C_T by track."""
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True)
class Zoo:
    """The results of some seeds, at least one."""

    seeds: tuple[SeedResult, ...]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes of all seeds."""
        return tuple(outcome for each in self.seeds for outcome in each.outcomes)

    def of(self, *methods: str) -> tuple[Outcome, ...]:
        """The entries made by these methods."""
        return tuple(each for each in self.outcomes if each.title.method in methods)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods that have entries, in the order of the tables."""
        return tuple(method for method in METHODS if self.of(method))

    def result_of(self, seed: int) -> SeedResult:
        """The result of a seed."""
        return next(each for each in self.seeds if each.seed == seed)

    @property
    def fixing(self) -> "Zoo":
        """The seeds on which thresholds are fixed; none if there are none of them yet."""
        return replace(self, seeds=tuple(each for each in self.seeds if each.seed in FIXING))

    @property
    def held(self) -> "Zoo":
        """The seeds on which they are judged."""
        return replace(self, seeds=tuple(each for each in self.seeds if each.seed not in FIXING))


def definition_of(plan: ZooPlan, version: int) -> dict[str, Any]:
    """What determines the outcomes of a seed: the plan, the ``version`` of the trainings, and that of the evidence."""
    fields: dict[str, Any] = {"trainings": version, "evidence": EVIDENCE_VERSION, "plan": asdict(plan)}
    stored: dict[str, Any] = json.loads(json.dumps(fields))
    return stored


def path_of(seed: int, folder: Path) -> Path:
    """Where the result of a seed is stored, below the folder of results."""
    return folder / f"zoo_seed_{seed}.json"


def write_seed(result: SeedResult, folder: Path) -> None:
    """Store a seed's result as JSON, one entry a line; numbers of evidence with six digits."""
    fields = _rounded(asdict(result))
    entries = [json.dumps(each | {"title": list(each["title"])}) for each in fields.pop("outcomes")]
    head = json.dumps(fields, indent=1)[:-2]
    folder.mkdir(parents=True, exist_ok=True)
    path = path_of(result.seed, folder)
    partial = path.with_suffix(".partial")
    partial.write_text(head + ',\n "outcomes": [\n  ' + ",\n  ".join(entries) + "\n ]\n}\n")
    partial.rename(path)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_rounded(each) for each in value]
    return value


def read_seed(path: Path) -> SeedResult:
    """The result stored by :func:`write_seed`."""
    fields: dict[str, Any] = json.loads(path.read_text())
    outcomes = tuple(
        Outcome(
            Title(*each["title"]),
            None if each["error"] is None else TrainingError(**each["error"]),
            {track: SpaceReading(**reading) for track, reading in each["readings"].items()},
        )
        for each in fields.pop("outcomes")
    )
    return SeedResult(**fields, outcomes=outcomes)


def read_zoo(folder: Path) -> Zoo:
    """The zoo of all seeds that have a result in a folder, in their order."""
    paths = [path for path in folder.glob("zoo_seed_*.json") if re.fullmatch(r"zoo_seed_\d+", path.stem)]
    return Zoo(tuple(sorted((read_seed(path) for path in paths), key=lambda each: each.seed)))
