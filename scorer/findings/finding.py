"""One number of one test, with its unit, its direction and a sentence for a person."""

from dataclasses import dataclass

SIGNIFICANCE_LEVEL = 0.01
"""A p-value below this is told as a finding."""

SHARE = "share"
HIGHER, LOWER = "higher is better", "lower is better"


@dataclass(frozen=True)
class Finding:
    """One number of one test, in words; what a number does not have is None.

    ``standard_error`` and ``p_value`` are those that the test's own module describes.
    """

    name: str
    value: float | None
    unit: str
    direction: str
    sentence: str
    standard_error: float | None = None
    p_value: float | None = None
