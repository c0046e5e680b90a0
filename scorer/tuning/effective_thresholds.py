"""Which choices of a threshold stand: those that no undo has taken back."""

from collections.abc import Sequence

from scorer.db import tuning
from scorer.db.tables import Threshold

UNDO = "undo"
"""The method of a threshold that restores the one before it."""


def effective_thresholds(newest_first: Sequence[Threshold]) -> list[Threshold]:
    """The choices that no undo has taken back, oldest first; the next undo takes back the last one."""
    standing: list[Threshold] = []
    for row in reversed(newest_first):
        if row.method == UNDO:
            standing.pop()
        else:
            standing = [] if row.method == tuning.UNSET else [*standing, row]
    return standing
