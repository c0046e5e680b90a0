"""What was read of every entry, as it is kept: one JSON file, from which the page is written."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.zoo.roster import METHODS, Title
from benchmarks.zoo.spaces import SpaceReading

TRACKS = ("public", "private")


@dataclass(frozen=True)
class Outcome:
    """An entry, and what each track's space tells of it."""

    title: Title
    readings: Mapping[str, SpaceReading]


@dataclass(frozen=True)
class Zoo:
    """All outcomes, with what they depend on."""

    machine: Mapping[str, str]
    counts: Mapping[str, int]
    """Of images, by kind: those of the reference, and ``entry``."""
    extractors: Mapping[str, str]
    """By track."""
    fresh: Mapping[str, float]
    """By track: the memorization distance of the held-out photographs."""
    cells: Mapping[str, int]
    """By track: into how many the training images are cut for C_T."""
    outcomes: tuple[Outcome, ...]

    def of(self, *methods: str) -> tuple[Outcome, ...]:
        """The entries made by these methods."""
        return tuple(each for each in self.outcomes if each.title.method in methods)

    @property
    def methods(self) -> tuple[str, ...]:
        """Those that have entries, in the order of tables."""
        return tuple(method for method in METHODS if self.of(method))


def write_zoo(zoo: Zoo, path: Path) -> None:
    """Keep everything, an entry a line."""
    kept = asdict(zoo)
    entries = [json.dumps(each | {"title": list(each["title"])}) for each in kept.pop("outcomes")]
    head = json.dumps(kept, indent=1)[:-2]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + ',\n "outcomes": [\n  ' + ",\n  ".join(entries) + "\n ]\n}\n")


def read_zoo(path: Path) -> Zoo:
    """What was kept."""
    kept: dict[str, Any] = json.loads(path.read_text())
    outcomes = tuple(
        Outcome(
            Title(*each["title"]),
            {track: SpaceReading(**reading) for track, reading in each["readings"].items()},
        )
        for each in kept.pop("outcomes")
    )
    return Zoo(**kept, outcomes=outcomes)
