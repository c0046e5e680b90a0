"""A finding: one quantity of one test, with its unit, its direction and a sentence for a person."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from scorer.findings.formatting import format_percent

EVIDENCE_VERSION = "6"
"""Part of the address of everything that evidence is made from. Raise it whenever the same entry would get different
evidence from the same references."""
SIGNIFICANCE_LEVEL = 0.01
"""A p-value below this is significant."""

SHARE = "share"
HIGHER, LOWER = "higher is better", "lower is better"

ErrorKind = Literal["sampling", "null"]
"""What a standard error measures. ``sampling``: the spread of the value over new images of the same generator, with the
same references. ``null``: the spread of the value by chance alone, if the hypothesis of the test holds."""

INTERVALS_THAT_MISS: Mapping[str, float] = MappingProxyType(
    {
        "coverage": 0.974,
        "distance_50": 0.898,
        "fid": 0.975,
        "fld_gap": 0.92,
        "kid": 0.917,
        "prd_f1_8": 0.991,
        "prd_f8": 1.0,
        "recall": 0.971,
        "recovery_generated_verbatim": 0.911,
        "recovery_near_train": 0.928,
    }
)
"""The share of 1,000 simulated 95 % intervals that covered the true value, for quantities below 93 or above 97 %.
``make bench BENCH=interval_coverage`` counts it."""


@dataclass(frozen=True)
class Finding:
    """One quantity of one test with its sentence. A field that the quantity does not have is None.

    A finding has a standard error with its ``error_kind``, a p-value, or both; the modules of the tests in
    :mod:`scorer.metrics` describe them. The power of an audit has neither: its sentence says how it was simulated.
    Raises ``ValueError`` for a standard error without a kind.
    """

    name: str
    value: float | None
    unit: str
    direction: str
    sentence: str
    standard_error: float | None = None
    p_value: float | None = None
    error_kind: ErrorKind | None = None
    interval_coverage: float | None = None
    """The share from :data:`INTERVALS_THAT_MISS`, if the number is one of them and has a standard error."""

    def __post_init__(self) -> None:
        if self.standard_error is not None and self.error_kind is None:
            raise ValueError(f"{self.name} has a standard error but no error_kind")


def with_interval_coverage(finding: Finding) -> Finding:
    """The finding, with a note in its sentence if its 95 % interval misses."""
    share = INTERVALS_THAT_MISS.get(finding.name)
    if share is None or finding.standard_error is None:
        return finding
    width = "narrow" if share < 0.95 else "wide"
    note = (
        f"The 95 % interval is too {width}: it covered the true value in {format_percent(share)} of 1,000 simulations."
    )
    return replace(finding, sentence=f"{finding.sentence} {note}", interval_coverage=share)
