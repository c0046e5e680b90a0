"""A finding: one quantity of one test, with its unit, its direction and a sentence for a person."""

from dataclasses import dataclass

SIGNIFICANCE_LEVEL = 0.01
"""A p-value below this is significant."""

SHARE = "share"
HIGHER, LOWER = "higher is better", "lower is better"


@dataclass(frozen=True)
class Finding:
    """One quantity of one test with its sentence; None for a field that the quantity does not have.

    ``standard_error`` and ``p_value`` are described in the module of the test in :mod:`scorer.metrics`.
    """

    name: str
    value: float | None
    unit: str
    direction: str
    sentence: str
    standard_error: float | None = None
    p_value: float | None = None
