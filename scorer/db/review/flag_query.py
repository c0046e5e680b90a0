"""What the desk asks of a competition's entries, and what it must know for that: who wins something, and where tau can
move."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from sqlalchemy import ColumnElement, true

from scorer.db.tables import Track

QueueState = Literal["open", "waiting", "own", "disputed", "decided"]
"""What has become of a flagged entry: it waits for somebody else's review, or is of the reviewer's own team."""


class WinningEntry(NamedTuple):
    """An entry that holds a rank which wins something."""

    ref: int
    rank: int
    score: float


@dataclass(frozen=True)
class TrackBounds:
    """Of a track: its tau, between which distances that can move without judging another way any entry that there was
    when it was chosen (None: no end), who wins something, and below which score one does: infinity while places are
    free, None where nothing is won."""

    tau: float | None
    low: float | None
    high: float | None
    winners: Sequence[WinningEntry]
    last_score: float | None


@dataclass(frozen=True)
class FlagQuery:
    """What is asked: of which competition, with which weight for each reason, for whose eyes; ``only``: of these
    entries alone."""

    competition_id: int
    tracks: Mapping[str, Track]
    bounds: Mapping[str, TrackBounds]
    weights: Mapping[str, int]
    reviewer_id: int
    own_team_id: int | None
    images: int
    """How many an entry has."""
    only: Sequence[int] | None = None

    def asks_for(self, ref: Any) -> ColumnElement[bool]:
        """Whether an entry is among those that are asked for."""
        return true() if self.only is None else ref.in_(self.only)


class FlaggedRow(NamedTuple):
    """A flagged entry; ``found`` has every mark, number and reason of it by its name."""

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
    def of(cls, found: Mapping[Any, Any]) -> "FlaggedRow":
        """A row by the names of its columns."""
        return cls(**{name: found[name] for name in cls._fields if name != "found"}, found=found)


class FlaggedPage(NamedTuple):
    """A page of flagged entries, and totals of all flagged entries by name: ``total_open`` and so on for each state,
    ``medals_public``, ``medals_public_decided``, and so for private."""

    rows: list[FlaggedRow]
    totals: Mapping[str, int]
