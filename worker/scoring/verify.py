"""Comparison of a repeated measurement or draw with the recorded one. Pure."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from scorer.generators.drawing import MAX_DIFFERENT, Pixels, compare_draws
from scorer.metrics.memorization import Nearest

SCORE_TOLERANCE = 1e-6
"""Relative change of a score that batch size, threads or machine may cause.

docs/explanation/reproducibility.md gives the reasons.
"""
IMAGE_TOLERANCE = 1e-5
"""Absolute change of one image's distance in [0, 2]. Features that turn by 1e-6 change 1 - |cos| by at most 2e-6."""

# Near zero only rounding remains, so differences are relative to at least these numbers: the fid of a copy may be 1e-10
# on one machine and 1e-12 on another.
_MIN_FID, _MIN_DISTANCE = 1.0, 1e-3


@dataclass(frozen=True, eq=False)
class MeasuredScores:
    """The numbers of one measurement: fid, the memorization distance s, and each image's nearest reference image."""

    fid: float
    memorization_distance: float
    nearest: Nearest


class ComparisonOutcome(StrEnum):
    """How a repeated measurement compares with the recorded one."""

    IDENTICAL = "equal, bit for bit"
    CLOSE = "equal"
    DIFFERENT = "not equal"


@dataclass(frozen=True)
class MeasurementComparison:
    """``relative`` is the larger relative difference of fid and s, ``images`` the number of images with a different
    nearest distance or index, even in the last bit.
    """

    outcome: ComparisonOutcome
    relative: float
    images: int

    @property
    def equal(self) -> bool:
        """Whether the two agree within the promised tolerances."""
        return self.outcome is not ComparisonOutcome.DIFFERENT

    def __str__(self) -> str:
        if self.outcome is ComparisonOutcome.CLOSE:
            return f"equal within {self.relative:.1e} relative"
        return str(self.outcome)


@dataclass(frozen=True)
class DrawComparison:
    """How a repeated draw compares with the recorded one. ``outcome`` is None if the pixels differ and the recorded
    ones are not there; ``different`` is the share of values that differ by more than a grey level."""

    outcome: ComparisonOutcome | None
    different: float | None

    @property
    def equal(self) -> bool:
        """Whether the two agree within the promised tolerance."""
        return self.outcome in {ComparisonOutcome.IDENTICAL, ComparisonOutcome.CLOSE}

    def __str__(self) -> str:
        if self.different is None:
            return "not equal, bit for bit; comparing within the tolerance needs the zip of this draw"
        if self.outcome is ComparisonOutcome.IDENTICAL:
            return str(self.outcome)
        share = f"{100 * (1 - self.different):.3f} % of values"
        if self.outcome is ComparisonOutcome.CLOSE:
            return f"equal within one grey level in {share}"
        return f"different: equal within one grey level in only {share}"


def compare_drawings(drawn: Pixels, load_recorded: Callable[[], Pixels | None], *, same: bool) -> DrawComparison:
    """Compare two drawings of the same images. ``same``: whether all pixels are equal."""
    if same:
        return DrawComparison(ComparisonOutcome.IDENTICAL, 0.0)
    recorded = load_recorded()
    if recorded is None:
        return DrawComparison(None, None)
    different = compare_draws(recorded, drawn)
    outcome = ComparisonOutcome.CLOSE if different <= MAX_DIFFERENT else ComparisonOutcome.DIFFERENT
    return DrawComparison(outcome, different)


def compare_scores(recorded: MeasuredScores, repeated: MeasuredScores) -> MeasurementComparison:
    """Compare fid, s, and every image's nearest distance and index.

    IDENTICAL: all are equal, bit for bit. CLOSE: fid and s differ by at most :data:`SCORE_TOLERANCE` relative, each
    image's distance by at most :data:`IMAGE_TOLERANCE`; if two reference images are equally near, the index may be the
    other one's.
    """
    relative = max(
        _relative(recorded.fid, repeated.fid, _MIN_FID),
        _relative(recorded.memorization_distance, repeated.memorization_distance, _MIN_DISTANCE),
    )
    before, now = recorded.nearest, repeated.nearest
    if before.distance.shape != now.distance.shape or before.index.shape != now.index.shape:
        return MeasurementComparison(
            ComparisonOutcome.DIFFERENT, relative, max(len(before.distance), len(now.distance))
        )
    moved = before.distance != now.distance
    other = moved | (before.index != now.index)
    same_numbers = (recorded.fid, recorded.memorization_distance) == (repeated.fid, repeated.memorization_distance)
    outcome = ComparisonOutcome.DIFFERENT
    if same_numbers and not other.any():
        outcome = ComparisonOutcome.IDENTICAL
    # If all distances are equal bit for bit, a different index is not a tie, but a difference.
    elif relative <= SCORE_TOLERANCE and _within_tolerance(before, now) and (moved.any() or not other.any()):
        outcome = ComparisonOutcome.CLOSE
    return MeasurementComparison(outcome, relative, int(other.sum()))


def _within_tolerance(before: Nearest, now: Nearest) -> bool:
    """Whether every image's distance differs by at most the tolerance; false for nan."""
    return bool((np.abs(before.distance - now.distance) <= IMAGE_TOLERANCE).all())


def _relative(recorded: float, repeated: float, min_scale: float) -> float:
    """The difference relative to the larger number or ``min_scale``; infinite if one of them is nan."""
    difference = abs(recorded - repeated) / max(min_scale, abs(recorded), abs(repeated))
    return math.inf if math.isnan(difference) else difference


def provenance_differences(recorded: Mapping[str, Any], repeated: Mapping[str, Any]) -> tuple[str, ...]:
    """One line of text per difference: versions, processor, arithmetic. Compares only the names in ``repeated``."""
    return tuple(
        f"{_in_words(name)}: {_recorded_text(recorded, name)} then, {_recorded_text(repeated, name)} now"
        for name in sorted(repeated)
        if recorded.get(name) != repeated[name]
    )


def _in_words(name: str) -> str:
    words = {"device_name": "processor", "cpu_capability": "vector instructions", "weights_sha256": "weights"}
    return words.get(name, name.replace("_", " "))


def _recorded_text(provenance: Mapping[str, Any], name: str) -> str:
    return str(provenance[name]) if provenance.get(name) is not None else "not recorded"
