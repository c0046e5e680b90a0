"""Columns of a track's scored submissions, and the rules by which they are judged. Pure.

A column of moments is in microseconds since 1970, so that nothing is lost and numbers sort as moments do.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
EMPTY: Ints = np.empty(0, np.int64)


def _none() -> Ints:
    return EMPTY


@dataclass(frozen=True)
class EntryColumns:
    """The scored entries of a track, a row each in the order of ``ref``, with their newest measurements."""

    ref: Ints
    team: Ints
    """The team that handed it in, whatever was merged since."""
    accepted_at: Ints
    measured_at: Ints
    fid: Floats
    distance: Floats
    copied_share: Floats
    late: Flags

    def __len__(self) -> int:
        return len(self.ref)

    def take(self, rows: Ints | Flags) -> "EntryColumns":
        """Some of the rows."""
        return EntryColumns(*(getattr(self, each.name)[rows] for each in fields(self)))

    def updated_with(self, other: "EntryColumns") -> "EntryColumns":
        """These entries and those of ``other``, which replace what has the same ref."""
        kept = self.take(~np.isin(self.ref, other.ref)) if len(other) else self
        both = EntryColumns(
            *(np.concatenate([getattr(kept, each.name), getattr(other, each.name)]) for each in fields(self))
        )
        in_order = len(kept) == 0 or len(other) == 0 or kept.ref[-1] < other.ref.min()
        return both if in_order else both.take(np.argsort(both.ref))

    def without(self, refs: Collection[int]) -> "EntryColumns":
        """These entries but for some."""
        return self.take(~np.isin(self.ref, np.array(list(refs), np.int64)))


@dataclass(frozen=True)
class JudgingRules:
    """What a field is judged by. ``tau`` is nan where there is none."""

    tau: float
    epsilon: float
    decimals: int
    merged: Ints = field(default_factory=_none)
    """Teams that were merged, in order; and beside each the team that it belongs to."""
    into: Ints = field(default_factory=_none)
    benchmarks: Ints = field(default_factory=_none)
    disqualified: Ints = field(default_factory=_none)
    """Refs of entries, and so is ``waived``."""
    waived: Ints = field(default_factory=_none)


class FinalPicks(NamedTuple):
    """The entries that teams are ranked by in the end: pairs, in the order of ``ref``."""

    ref: Ints
    team: Ints
