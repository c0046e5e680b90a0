"""Whether a measurement that was made again is the one that was recorded. Pure: numbers in, a verdict out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from scorer.metrics.memorization import Nearest

SCORE_TOLERANCE = 1e-6
"""Relative: by how much a score may move with batch size, threads or machine (METRICS A9)."""
IMAGE_TOLERANCE = 1e-5
"""Absolute, of one image's distance in [0, 2]. Features that turn by 1e-6 move 1 - |cos| by 2e-6 at most."""

# Next to zero only rounding is left, which no number is relative to: a copy's fid is 1e-10 here and 1e-12 there.
_MIN_FID, _MIN_DISTANCE = 1.0, 1e-3


@dataclass(frozen=True, eq=False)
class MeasuredScores:
    """The numbers of one measurement: fid, the memorization distance s, and each image's nearest reference image."""

    fid: float
    memorization_distance: float
    nearest: Nearest


class Verdict(StrEnum):
    """How a measurement made again compares with the recorded one."""

    IDENTICAL = "equal, bit for bit"
    CLOSE = "equal"
    DIFFERENT = "not equal"


@dataclass(frozen=True)
class Comparison:
    """``relative`` is the larger relative difference of fid and s, ``images`` how many images have another nearest
    distance or index, be it by the last bit."""

    verdict: Verdict
    relative: float
    images: int

    @property
    def equal(self) -> bool:
        """Whether what was promised is kept."""
        return self.verdict is not Verdict.DIFFERENT

    def __str__(self) -> str:
        if self.verdict is Verdict.CLOSE:
            return f"equal to {self.relative:.1e} relative"
        return str(self.verdict)


def compare_scores(recorded: MeasuredScores, found: MeasuredScores) -> Comparison:
    """Compare fid, s, and of every image the nearest distance and index.

    IDENTICAL: all of them, bit for bit. CLOSE: fid and s within :data:`PROMISED` relative, each image's distance
    within :data:`IMAGE_TOLERANCE`; where two reference images are as near, the index may then be the other's.
    """
    relative = max(
        _relative(recorded.fid, found.fid, _MIN_FID),
        _relative(recorded.memorization_distance, found.memorization_distance, _MIN_DISTANCE),
    )
    before, now = recorded.nearest, found.nearest
    if before.distance.shape != now.distance.shape or before.index.shape != now.index.shape:
        return Comparison(Verdict.DIFFERENT, relative, max(len(before.distance), len(now.distance)))
    moved = before.distance != now.distance
    other = moved | (before.index != now.index)
    same_numbers = (recorded.fid, recorded.memorization_distance) == (found.fid, found.memorization_distance)
    verdict = Verdict.DIFFERENT
    if same_numbers and not other.any():
        verdict = Verdict.IDENTICAL
    # Equal distances leave no tie open: then another index is another index.
    elif relative <= SCORE_TOLERANCE and _within_tolerance(before, now) and (moved.any() or not other.any()):
        verdict = Verdict.CLOSE
    return Comparison(verdict, relative, int(other.sum()))


def _within_tolerance(before: Nearest, now: Nearest) -> bool:
    """Whether every image's distance is as near as it should be; false for nan."""
    return bool((np.abs(before.distance - now.distance) <= IMAGE_TOLERANCE).all())


def _relative(recorded: float, found: float, least: float) -> float:
    """The difference relative to the larger number, at least ``least``; infinite where one is not a number."""
    difference = abs(recorded - found) / max(least, abs(recorded), abs(found))
    return math.inf if math.isnan(difference) else difference


def provenance_differences(recorded: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[str, ...]:
    """Where a recorded provenance says another thing than that of the repetition, a line each, in words: versions,
    processor, arithmetic. Only what ``found`` knows of is looked at."""
    return tuple(
        f"{_in_words(name)}: {_recorded_text(recorded, name)} then, {_recorded_text(found, name)} now"
        for name in sorted(found)
        if recorded.get(name) != found[name]
    )


def _in_words(name: str) -> str:
    words = {"device_name": "processor", "cpu_capability": "vector instructions", "weights_sha256": "weights"}
    return words.get(name, name.replace("_", " "))


def _recorded_text(provenance: Mapping[str, Any], name: str) -> str:
    return str(provenance[name]) if provenance.get(name) is not None else "not recorded"
