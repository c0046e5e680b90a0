"""Parameters and results of the query for flagged entries. Plain data."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, true

from scorer.db.tables import Track
from scorer.lifecycle import TrackKind

QueueState = Literal["open", "waiting", "disputed", "unruled", "decided"]
"""The state of a flagged entry for a reviewer. ``waiting``: it needs another person's review. ``unruled``: its decided
label says that it memorises, and nobody has ruled on it."""


STRONG_SIGNS = frozenset(
    {
        "copying",
        "same-zip",
        "shared-images",
        "recovered",
        "near-copies",
        "mirrored-copies",
        "thumbnail-copies",
        "hash-copies",
        "partly-copied",
        "relative-copies",
    }
)
"""The reasons by which a submission that wins something must not stand unpenalised before people have looked at it."""


class WinningEntry(NamedTuple):
    """An entry with a rank that wins a medal or prize."""

    ref: int
    rank: int
    score: float


@dataclass(frozen=True)
class TrackBounds:
    """What decides flags on a track: its tau and which entries win something."""

    tau: float | None
    low: float | None
    """Between ``low`` and ``high``, tau could move without changing a penalty of the entries that there were when it
    was chosen; None: no bound."""
    high: float | None
    winners: Sequence[WinningEntry]
    last_score: float | None
    """A lower score wins something: infinity while winning ranks are free, None where nothing is won."""


@dataclass(frozen=True)
class FlagQuery:
    """Which entries to flag: of which competition, with which weight for each reason, for which reviewer."""

    competition_id: int
    tracks: Mapping[TrackKind, Track]
    bounds: Mapping[str, TrackBounds]
    weights: Mapping[str, int]
    reviewer_id: int
    images: int
    """How many images an entry has."""
    memorising: Collection[str]
    """The labels that mean memorisation."""
    only: Sequence[int] | None = None
    """The refs of the only entries to look at; None: all."""

    def includes(self, ref: Any) -> ColumnElement[bool]:
        """The condition that an entry is among ``only``."""
        return true() if self.only is None else ref.in_(self.only)


class FlaggedRow(NamedTuple):
    """A flagged entry; ``found`` has all its marks, numbers and reasons by name."""

    ref: int
    id: str
    team_id: int
    team: str
    weight: int
    state: QueueState
    reviews: int
    label: str | None
    found: Mapping[str, Any]

    @classmethod
    def of(cls, columns: Mapping[Any, Any]) -> "FlaggedRow":
        """A row of the query as a flagged entry."""
        return cls(**{name: columns[name] for name in cls._fields if name != "found"}, found=columns)
