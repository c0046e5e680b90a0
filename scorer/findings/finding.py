"""A finding: one quantity of one test, with its unit, its direction and a sentence for a person."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from scorer.findings.formatting import format_percent

EVIDENCE_VERSION = "5"
"""Raised whenever the same entry would get other evidence from the same references: part of the address of everything
that is kept to make evidence."""
SIGNIFICANCE_LEVEL = 0.01
"""A p-value below this is significant."""

SHARE = "share"
HIGHER, LOWER = "higher is better", "lower is better"

ErrorKind = Literal["sampling", "null"]
"""What a standard error is the spread of. ``sampling``: the value over new images of the same generator, the
references being given. ``null``: the value around what chance makes, if the test's hypothesis holds."""

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
"""The numbers of which less than 93 or more than 97 % of 1,000 simulated 95 % intervals held, with that share: what
``make bench BENCH=interval_coverage`` counts."""


@dataclass(frozen=True)
class Finding:
    """One quantity of one test with its sentence; None for a field that the quantity does not have.

    Each has a standard error, with its ``error_kind``, or a p-value, or both: the modules of the tests in
    :mod:`scorer.metrics` describe them. The power of an audit has neither: its sentence says how it was simulated.
    ``ValueError`` for an error of no kind.
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
    """Of :data:`INTERVALS_THAT_MISS`, beside the standard error of such a number."""

    def __post_init__(self) -> None:
        """Refuse a standard error that does not say what it is the spread of."""
        if self.standard_error is not None and self.error_kind is None:
            raise ValueError(f"the standard error of {self.name} has no kind")


def with_interval_coverage(finding: Finding) -> Finding:
    """The same finding; if its 95 % interval misses, its sentence says so."""
    share = INTERVALS_THAT_MISS.get(finding.name)
    if share is None or finding.standard_error is None:
        return finding
    width = "narrow" if share < 0.95 else "wide"
    note = f"Its 95 % interval is too {width}: {format_percent(share)} of 1,000 simulated ones held."
    return replace(finding, sentence=f"{finding.sentence} {note}", interval_coverage=share)
