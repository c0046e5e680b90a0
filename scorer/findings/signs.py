"""Signs of copying: the quantities of an entry's evidence that are beyond their threshold. Computed on every read.

This is the only place that defines the thresholds. A sign is a condition on an object with the columns of the table
``evidence`` and ``images``, the entry's number of images. These are values (:func:`find_signs`) or, in SQL, the columns
themselves. An unknown value (null, NaN) is no sign.

A sign has two conditions: chance does not explain the quantity (p < :data:`SIGNIFICANCE_LEVEL`), and the quantity is
large enough to matter. Among 10,000 images nearly any difference is significant, and honest generators never match
real images exactly.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scorer.findings.finding import SIGNIFICANCE_LEVEL
from scorer.metrics.copying import support_size

MAX_U_SHARE = 0.45
"""Among thousands of images even a small difference is significant. The sentence calls a share above this small."""
MIN_SHARE = 0.05
"""The smallest share of an entry's images that counts. Fewer copies may be chance or accident."""
MIN_AUC = 0.6
"""The smallest AUC that counts: how often, of a training and a held-out image, the former is nearer to the entry. An
entry above it reveals which images its generator was trained on. Every generator that fits the training images is a
little nearer to them: a kernel density estimate of maximum-likelihood width had 0.55."""
MIN_DISTINCT_IMAGES = 20
"""An entry has collapsed if its share of alike pairs is 1 / this or more: it is no more varied than this many different
images, repeated. The share of alike pairs does not depend on the number of images. The share of images that are like
another one does, and it approaches 1 among thousands of blurred images. Honest but blurry models varied as much as 90
different images in one extractor and 700 in another."""


@dataclass(frozen=True)
class Sign:
    """One sign. ``finding`` is the name of the finding whose sentence explains it, ``is_large`` the condition on its
    size, ``p_value`` the column with its p-value, if any."""

    name: str
    finding: str
    is_large: Callable[[Any], Any]
    p_value: str | None

    def holds(self, evidence: Any) -> Any:
        large = self.is_large(evidence)
        return large if self.p_value is None else (getattr(evidence, self.p_value) < SIGNIFICANCE_LEVEL) & large


def _has_large_share(prefix: str) -> Callable[[Any], Any]:
    return lambda evidence: getattr(evidence, f"{prefix}_share") >= MIN_SHARE


def _mirrored(evidence: Any) -> Any:
    return evidence.near_copies_mirrored >= MIN_SHARE * evidence.images


def _near(evidence: Any) -> Any:
    upright = evidence.near_copies_share * evidence.images - evidence.near_copies_mirrored
    return upright >= MIN_SHARE * evidence.images


def _repeats(evidence: Any) -> Any:
    return evidence.repeats_pairs * MIN_DISTINCT_IMAGES >= evidence.images * (evidence.images - 1) / 2.0


def _authentic(evidence: Any) -> Any:
    return evidence.authenticity_share <= evidence.authenticity_expected - MIN_SHARE


def _relative(evidence: Any) -> Any:
    return evidence.relative_share - evidence.relative_expected >= MIN_SHARE * (1.0 - evidence.relative_expected)


def _table(evidence: Any) -> Any:
    return (evidence.support_p < support_size.SIGNIFICANCE_LEVEL) & (evidence.support_size <= support_size.MAX_TABLE)


def _identical(evidence: Any) -> Any:
    return evidence.identical + evidence.mirrored_twins >= MIN_SHARE * evidence.images


SMALL_SUPPORT = Sign("small-support", "support", _table, None)
"""The entry is a table of images, or has collapsed. Zips have no support size."""
SIGNS = (
    Sign("near-copies", "near_copies", _near, "near_copies_p"),
    Sign("mirrored-copies", "near_copies", _mirrored, "near_copies_p"),
    Sign("thumbnail-copies", "thumbnail_copies", _has_large_share("thumbnail"), "thumbnail_p"),
    Sign("hash-copies", "hash_copies", _has_large_share("hash"), "hash_p"),
    Sign("partly-copied", "partly_copied", _has_large_share("partly_copied"), "partly_copied_p"),
    Sign("relative-copies", "relative_copies", _relative, "relative_p"),
    Sign("membership", "membership_auc", lambda evidence: evidence.membership_auc >= MIN_AUC, "membership_auc_p"),
    Sign("data-copying", "z_u", lambda evidence: evidence.u_share <= MAX_U_SHARE, "z_u_p"),
    SMALL_SUPPORT,
    Sign("repeats", "repeats", _repeats, "repeats_p"),
    Sign("identical-images", "identical", _identical, None),
    Sign("not-authentic", "authenticity", _authentic, "authenticity_p"),
)
"""The strongest evidence first."""


def find_signs(numbers: Mapping[str, float | None], images: int) -> tuple[Sign, ...]:
    """The signs in the evidence of an entry with this number of ``images``. ``numbers`` has the columns by name; None
    or missing is unknown."""
    known = _KnownNumbers({name: value for name, value in numbers.items() if value is not None} | {"images": images})
    return tuple(sign for sign in SIGNS if sign.holds(known))


class _KnownNumbers:
    def __init__(self, numbers: Mapping[str, float]) -> None:
        self._numbers = numbers

    def __getattr__(self, name: str) -> float:
        return self._numbers.get(name, math.nan)


def find_sentence(sign: Sign, findings: Sequence[Mapping[str, Any]]) -> str:
    """The sentence of an entry's findings that explains a sign; empty if there is none."""
    return next((finding["sentence"] for finding in findings if finding["name"] == sign.finding), "")
