"""A track's scored entries as columns, and the rules that judge them. Pure.

Times are integer microseconds since 2000-01-01 UTC: lossless, and sorted like the times.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
EMPTY: Ints = np.empty(0, np.int64)
BLOCK_ROWS = 4_096
T = TypeVar("T", bound=np.generic)


def distinct(values: Ints) -> Ints:
    """The distinct values, sorted. Takes an eighth of the time of ``np.unique``."""
    ordered = np.sort(values)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def numbered(teams: Ints) -> tuple[Ints, int]:
    """Each team's number from 0, in the order of ids, and the number of teams. Uses a table if the ids are close
    together, which takes a tenth of the time of sorting."""
    low, high = (int(teams.min()), int(teams.max())) if len(teams) else (0, 0)
    if high - low > 8 * len(teams):
        ids, numbers = np.unique(teams, return_inverse=True)
        return numbers, len(ids)
    exists = np.zeros(high - low + 1, np.bool_)
    exists[teams - low] = True
    numbers = np.cumsum(exists) - 1
    return numbers[teams - low], int(np.count_nonzero(exists))


def is_among(values: Ints, wanted: Ints) -> Flags:
    """Whether each value is in ``wanted``."""
    return np.isin(values, wanted) if len(wanted) else np.zeros(len(values), np.bool_)


def positions_in(ordered: Ints, wanted: Ints) -> tuple[Ints, Flags]:
    """The position of each wanted value in the sorted ``ordered``, and whether it is there; 0 if it is not."""
    if np.array_equal(ordered, wanted):
        return np.arange(len(ordered)), np.ones(len(ordered), np.bool_)
    positions = np.searchsorted(ordered, wanted)
    positions[positions == len(ordered)] = 0
    found = ordered[positions] == wanted if len(ordered) else np.zeros(len(wanted), np.bool_)
    return positions, found


def in_blocks(function: Callable[..., NDArray[T]], *columns: NDArray[Any]) -> NDArray[T]:
    """``function(*columns)`` for a function that computes each row independently, a few thousand rows at a time.
    Intermediate results stay in the processor's cache; whole columns would allocate memory for each step."""
    rows = len(columns[0])
    first = function(*(column[:BLOCK_ROWS] for column in columns))
    values = np.empty(rows, first.dtype)
    values[:BLOCK_ROWS] = first
    for start in range(BLOCK_ROWS, rows, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        values[block] = function(*(column[block] for column in columns))
    return values


@dataclass(frozen=True)
class EntryColumns:
    """A track's scored entries, one row each in the order of ``ref``, with their newest measurements."""

    ref: Ints
    team: Ints
    """The submitting team, before any merges."""
    accepted_at: Ints
    measured_at: Ints
    fid: Floats
    distance: Floats
    distance_se: Floats
    """The standard error of ``distance``; nan if there is none."""
    copied_share: Floats
    late: Flags
    conditions: Ints
    """The scorer version and references of the measurement, as a number."""

    def __len__(self) -> int:
        return len(self.ref)

    def take(self, rows: Ints | Flags) -> "EntryColumns":
        return EntryColumns(*(getattr(self, column.name)[rows] for column in fields(self)))

    def updated_with(self, other: "EntryColumns") -> "EntryColumns":
        """These entries and those of ``other``, which replace entries with the same ref."""
        remaining = self.take(~np.isin(self.ref, other.ref)) if len(other) else self
        both = EntryColumns(
            *(np.concatenate([getattr(remaining, column.name), getattr(other, column.name)]) for column in fields(self))
        )
        in_order = len(remaining) == 0 or len(other) == 0 or remaining.ref[-1] < other.ref.min()
        return both if in_order else both.take(np.argsort(both.ref, kind="stable"))

    def before(self, moment: int, superseded: "EntryColumns") -> "EntryColumns":
        """These entries as they were at a past moment. An entry that was measured later has its newest earlier
        measurement, or is absent. ``superseded`` has every measurement that is not its entry's newest, ordered by ref
        and, within an entry, by age."""
        unchanged = self.measured_at <= moment
        if unchanged.all():
            return self
        earlier = superseded.take(superseded.measured_at <= moment)
        is_newest = np.append(earlier.ref[1:] != earlier.ref[:-1], np.ones(min(1, len(earlier)), np.bool_))
        earlier = earlier.take(is_newest)
        now = self.take(unchanged)
        return now.updated_with(earlier.take(~np.isin(earlier.ref, now.ref)))

    def without(self, refs: Collection[int]) -> "EntryColumns":
        """These entries except those with the given refs."""
        return self.take(~np.isin(self.ref, np.array(list(refs), np.int64)))


@dataclass(frozen=True)
class JudgingRules:
    """Threshold, rounding, merges and rulings that judge a track's entries. ``tau`` is nan without a threshold."""

    tau: float
    epsilon: float
    decimals: int
    merged: Ints = field(default_factory=EMPTY.copy)
    """Merged teams, sorted; ``into`` has the current team of each, at the same index."""
    into: Ints = field(default_factory=EMPTY.copy)
    benchmarks: Ints = field(default_factory=EMPTY.copy)
    disqualified: Ints = field(default_factory=EMPTY.copy)
    """Refs of entries, as in ``waived``."""
    waived: Ints = field(default_factory=EMPTY.copy)

    def current_teams(self, teams: Ints) -> Ints:
        if not len(self.merged):
            return teams
        positions, is_merged = positions_in(self.merged, teams)
        return np.where(is_merged, self.into[positions], teams)

    def equals(self, other: "JudgingRules", *, but_tau: bool = False) -> bool:
        """Whether both judge alike. With ``but_tau``, tau may differ."""
        names = [rule.name for rule in fields(self) if rule.name != "tau"]
        pairs = [(getattr(self, name), getattr(other, name)) for name in names]
        same_tau = but_tau or np.array_equal(self.tau, other.tau, equal_nan=True)
        return same_tau and all(np.array_equal(one, another) for one, another in pairs)


class FinalPicks(NamedTuple):
    """The entries by which teams are ranked in the end, as pairs in the order of ``ref``."""

    ref: Ints
    team: Ints
