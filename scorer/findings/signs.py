"""Signs of copying: which of the numbers that an entry's evidence has speak of it, judged whenever somebody looks.

The thresholds stand here and nowhere else. A sign is a condition on anything that has the columns of the table
``evidence`` and ``images``, the number of the entry's: numbers (:func:`signs_of`), or the columns themselves, in SQL.
What is not known (null, NaN) is no sign.

A sign asks twice: whether chance explains the number (p < :data:`CERTAIN`), and whether it is large enough to matter,
since among 10,000 images chance explains nothing, and honest generators are never quite like photographs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorer.findings.finding import SIGNIFICANCE_LEVEL

MAX_U_SHARE = 0.45
"""Among thousands of images a difference that means little is certain, too: a share above this is told as slight."""
MIN_SHARE = 0.05
"""The smallest share of an entry's images that counts: fewer copies may be chance's, or a mishap."""
MIN_DISTINCT_IMAGES = 20
"""Fewer different images than this in an entry is a collapse: of two of its images, one in so many pairs is alike. The
share of alike pairs stays the same however many images there are; the share of images that are alike to another one
does not, and among thousands of blurred ones comes near to 1. Honest but blurry models of photographs were as if of
90 different images in one network and of 700 in another."""


@dataclass(frozen=True)
class Sign:
    """One reason to think of copying: ``holds`` says when, ``finding`` names the finding whose sentence tells it."""

    name: str
    finding: str
    holds: Callable[[Any], Any]


def _thumbnails(of: Any) -> Any:
    return (of.thumbnail_p < SIGNIFICANCE_LEVEL) & (of.thumbnail_share >= MIN_SHARE)


def _partly(of: Any) -> Any:
    return (of.partly_copied_p < SIGNIFICANCE_LEVEL) & (of.partly_copied_share >= MIN_SHARE)


def _mirrored(of: Any) -> Any:
    return (of.near_copies_p < SIGNIFICANCE_LEVEL) & (of.near_copies_mirrored >= MIN_SHARE * of.images)


def _near(of: Any) -> Any:
    upright = of.near_copies_share * of.images - of.near_copies_mirrored
    return (of.near_copies_p < SIGNIFICANCE_LEVEL) & (upright >= MIN_SHARE * of.images)


def _regions(of: Any) -> Any:
    """Not C_T, which is the mean over the regions: one that is copied may hide among others that are not."""
    return (of.copied_cells >= 1) & (of.copied_cells_share >= MIN_SHARE)


def _data(of: Any) -> Any:
    return (of.z_u_p < SIGNIFICANCE_LEVEL) & (of.u_share <= MAX_U_SHARE)


def _repeats(of: Any) -> Any:
    pairs = of.images * (of.images - 1) / 2.0
    return (of.repeats_p < SIGNIFICANCE_LEVEL) & (of.repeats_pairs * MIN_DISTINCT_IMAGES >= pairs)


def _authentic(of: Any) -> Any:
    return (of.authenticity_p < SIGNIFICANCE_LEVEL) & (of.authenticity_share <= of.authenticity_expected - MIN_SHARE)


def _identical(of: Any) -> Any:
    return of.identical + of.mirrored_twins >= MIN_SHARE * of.images


SIGNS = (
    Sign("near-copies", "near_copies", _near),
    Sign("mirrored-copies", "near_copies", _mirrored),
    Sign("thumbnail-copies", "thumbnail_copies", _thumbnails),
    Sign("partly-copied", "partly_copied", _partly),
    Sign("copied-regions", "copied_cells", _regions),
    Sign("data-copying", "z_u", _data),
    Sign("repeats", "repeats", _repeats),
    Sign("identical-images", "identical", _identical),
    Sign("not-authentic", "authenticity", _authentic),
)
"""The most telling first."""


def signs_of(numbers: Mapping[str, float | None], images: int) -> tuple[Sign, ...]:
    """The signs that the evidence of an entry of so many ``images`` shows. ``numbers``: the columns, by name; one that
    is None or missing is not known."""
    known = _KnownNumbers({name: value for name, value in numbers.items() if value is not None} | {"images": images})
    return tuple(each for each in SIGNS if each.holds(known))


class _KnownNumbers:
    """Numbers by name, NaN for those that are not known."""

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self._numbers = numbers

    def __getattr__(self, name: str) -> float:
        return self._numbers.get(name, math.nan)


def sentence_of(sign: Sign, findings: Sequence[Mapping[str, Any]]) -> str:
    """What an entry's findings say of a sign that it shows."""
    return next((each["sentence"] for each in findings if each["name"] == sign.finding), "")
