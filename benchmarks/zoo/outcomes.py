"""The stored results of the zoo: one JSON file per seed, the source of the page."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from benchmarks.zoo.entries import FIXING, METHODS, SEEDS, Title
from benchmarks.zoo.spaces import SpaceReading
from scorer.lifecycle import TrackKind


@dataclass(frozen=True)
class TrainingError:
    """Differences of a network's images from the training images that it should draw again, in grey levels."""

    root_mean_square: float
    mean: float
    """The mean of the absolute differences."""


@dataclass(frozen=True)
class Outcome:
    """An entry's scores and evidence by track. ``error`` is None unless a network should reproduce training images."""

    title: Title
    error: TrainingError | None
    readings: Mapping[TrackKind, SpaceReading]


@dataclass(frozen=True)
class SeedResult:
    """All outcomes of one seed, with machine, sizes and extractors."""

    command: str
    seed: int
    definition: Mapping[str, Any]
    """Sizes and versions."""
    machine: Mapping[str, str]
    seconds: Mapping[str, float]
    """Processor time of each training, in seconds."""
    counts: Mapping[str, int]
    """Numbers of images by kind: those of the reference, ``entry`` and ``photographs``."""
    extractors: Mapping[TrackKind, str]
    """Extractor by track."""
    held_out_distance: Mapping[TrackKind, float]
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
        return tuple(outcome for seed in self.seeds for outcome in seed.outcomes)

    def of(self, *methods: str) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.title.method in methods)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods with entries, in the order of the tables."""
        return tuple(method for method in METHODS if self.of(method))

    @property
    def held(self) -> "Zoo":
        """The seeds that judge the targets."""
        return replace(self, seeds=tuple(seed for seed in self.seeds if seed.seed not in FIXING))


def build_result_path(seed: int, folder: Path) -> Path:
    return folder / f"zoo_seed_{seed}.json"


def write_seed(result: SeedResult, folder: Path) -> None:
    """Store a seed's result as JSON with one entry per line. Numbers have six digits."""
    fields = json.loads(json.dumps(asdict(result)), parse_float=lambda number: float(f"{float(number):.6g}"))
    entries = [json.dumps(outcome) for outcome in fields.pop("outcomes")]
    head = json.dumps(fields, indent=1)[:-2]
    folder.mkdir(parents=True, exist_ok=True)
    outcomes = ",\n  ".join(entries)
    build_result_path(result.seed, folder).write_text(f'{head},\n "outcomes": [\n  {outcomes}\n ]\n}}\n')


def read_zoo(folder: Path) -> Zoo:
    """The zoo of all seeds with a result in ``folder``, in order."""
    paths = [path for seed in SEEDS if (path := build_result_path(seed, folder)).is_file()]
    return Zoo(tuple(TypeAdapter(SeedResult).validate_json(path.read_bytes()) for path in paths))
