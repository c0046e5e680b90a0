"""The stored results of the zoo: one JSON file, from which figures and page are made."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.zoo.entries import METHODS, Title
from benchmarks.zoo.spaces import SpaceReading
from scorer.lifecycle import TrackKind


@dataclass(frozen=True)
class Outcome:
    """An entry's scores and evidence by track."""

    title: Title
    readings: Mapping[TrackKind, SpaceReading]


@dataclass(frozen=True)
class Zoo:
    """All outcomes, with the machine, sizes and extractors that they depend on."""

    machine: Mapping[str, str]
    counts: Mapping[str, int]
    """Numbers of images by kind: those of the reference, and ``entry``."""
    extractors: Mapping[TrackKind, str]
    """Extractor by track."""
    fresh: Mapping[TrackKind, float]
    """Memorization distance of the held-out images by track."""
    cells: Mapping[TrackKind, int]
    """Number of cells for C_T by track."""
    outcomes: tuple[Outcome, ...]

    def of(self, *methods: str) -> tuple[Outcome, ...]:
        """The entries made by these methods."""
        return tuple(each for each in self.outcomes if each.title.method in methods)

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods that have entries, in the order of the tables."""
        return tuple(method for method in METHODS if self.of(method))


def write_zoo(zoo: Zoo, path: Path) -> None:
    """Store the zoo as JSON, one entry a line."""
    fields = asdict(zoo)
    entries = [json.dumps(each | {"title": list(each["title"])}) for each in fields.pop("outcomes")]
    head = json.dumps(fields, indent=1)[:-2]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + ',\n "outcomes": [\n  ' + ",\n  ".join(entries) + "\n ]\n}\n")


def read_zoo(path: Path) -> Zoo:
    """The zoo stored by :func:`write_zoo`."""
    fields: dict[str, Any] = json.loads(path.read_text())
    outcomes = tuple(
        Outcome(
            Title(*each["title"]),
            {track: SpaceReading(**reading) for track, reading in each["readings"].items()},
        )
        for each in fields.pop("outcomes")
    )
    return Zoo(**fields, outcomes=outcomes)
