"""A finding: one quantity of one test, with its unit, its direction and a sentence for a person."""

from dataclasses import dataclass
from typing import Literal

EVIDENCE_VERSION = "2"
"""Raised whenever the same entry would get other evidence from the same references: part of the address of everything
that is kept to make evidence."""
SIGNIFICANCE_LEVEL = 0.01
"""A p-value below this is significant."""

SHARE = "share"
HIGHER, LOWER = "higher is better", "lower is better"

ErrorKind = Literal["sampling", "null"]
"""What a standard error is the spread of. ``sampling``: the value over fresh images of the same generator, the
references being given. ``null``: the value around what chance makes, if the test's hypothesis holds."""


@dataclass(frozen=True)
class Finding:
    """One quantity of one test with its sentence; None for a field that the quantity does not have.

    Each has a standard error, with its ``error_kind``, or a p-value, or both: the modules of the tests in
    :mod:`scorer.metrics` describe them. ``ValueError`` for an error of no kind.
    """

    name: str
    value: float | None
    unit: str
    direction: str
    sentence: str
    standard_error: float | None = None
    p_value: float | None = None
    error_kind: ErrorKind | None = None

    def __post_init__(self) -> None:
        """Refuse a standard error that does not say what it is the spread of."""
        if self.standard_error is not None and self.error_kind is None:
            raise ValueError(f"the standard error of {self.name} has no kind")
