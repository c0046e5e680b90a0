"""The lines of one board: out of the process's memory where it keeps boards (:mod:`scorer.memory`), else from SQL."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from sqlalchemy.orm import Session

from scorer import memory
from scorer.db import board, fields
from scorer.db.tables import Competition, Track
from scorer.field import Order


class Line(NamedTuple):
    """An entry on a board: its team's best one, a benchmark, or one that is listed apart. Of those, the score says
    nothing and there is no rank."""

    rank: int | None
    ref: int
    team_id: int
    score: float
    fid: float
    memorization_distance: float
    penalised: bool
    accepted_at: datetime


class Lines(Protocol):
    """A board from rank 1 on, and what stands apart."""

    def __len__(self) -> int:
        """How many teams have a rank."""

    def page(self, after: int, limit: int | None) -> list[Line]:
        """The lines from rank ``after + 1`` on, at most ``limit``."""

    def of_teams(self, team_ids: Collection[int]) -> list[Line]:
        """Those of the teams that have a rank, best first."""

    def benchmarks(self) -> list[Line]:
        """Reference lines, best first."""

    def copies(self) -> list[Line]:
        """The newest entry of each team that has nothing but copies."""

    def disqualified(self) -> list[Line]:
        """The newest disqualified entry of each team that is on no line because of it."""


def lines_of(
    session: Session,
    competition: Competition,
    tracks: dict[str, Track],
    kind: str,
    *,
    late: bool = False,
    at: datetime | None = None,
) -> Lines:
    """The lines of a track's board: of late entries (``late``), as it was at a moment (``at``)."""
    kept = memory.of(session)
    if kept is not None:
        return KeptLines(kept.order(competition, tracks, kind, late=late, at=at))
    return ReadLines(session, tracks[kind].id, competition.score_decimals, late, at)


@dataclass(frozen=True)
class KeptLines:
    """Of an order in memory."""

    order: Order

    def __len__(self) -> int:
        return len(self.order)

    def page(self, after: int, limit: int | None) -> list[Line]:
        """See :class:`Lines`."""
        end = len(self.order) if limit is None else after + limit
        return self._lines(self.order.rows[after:end], after + 1)

    def of_teams(self, team_ids: Collection[int]) -> list[Line]:
        """See :class:`Lines`."""
        ranks = sorted(filter(None, map(self.order.rank_of_team, team_ids)))
        return [line for rank in ranks for line in self.page(rank - 1, 1)]

    def benchmarks(self) -> list[Line]:
        """See :class:`Lines`."""
        return self._lines(self.order.benchmarks)

    def copies(self) -> list[Line]:
        """See :class:`Lines`."""
        return self._lines(self.order.copies)

    def disqualified(self) -> list[Line]:
        """See :class:`Lines`."""
        return self._lines(self.order.disqualified)

    def _lines(self, rows: Any, first: int | None = None) -> list[Line]:
        judged, field = self.order.judged, self.order.judged.field
        columns = (field.ref, judged.team, judged.score, field.fid, field.distance, judged.penalised, field.accepted_at)
        numbers = zip(*(column[rows].tolist() for column in columns), strict=True)
        return [
            Line._make((None if first is None else first + place, *found[:-1], fields.moment(found[-1])))
            for place, found in enumerate(numbers)
        ]


@dataclass(frozen=True)
class ReadLines:
    """Of the tables."""

    session: Session
    track_id: int
    decimals: int
    late: bool
    at: datetime | None

    @property
    def _how(self) -> dict[str, Any]:
        return {"decimals": self.decimals, "at": self.at, "late": self.late}

    @cached_property
    def _ranked(self) -> list[Line]:
        return [_line(row, row.rank) for row in board.ranks(self.session, self.track_id, **self._how)]

    def __len__(self) -> int:
        return len(self._ranked)

    def page(self, after: int, limit: int | None) -> list[Line]:
        """See :class:`Lines`."""
        return self._ranked[after : None if limit is None else after + limit]

    def of_teams(self, team_ids: Collection[int]) -> list[Line]:
        """See :class:`Lines`."""
        return [line for line in self._ranked if line.team_id in team_ids]

    def benchmarks(self) -> list[Line]:
        """See :class:`Lines`."""
        found = board.benchmarks(self.session, self.track_id, decimals=self.decimals, at=self.at)
        return _unranked(found)

    def copies(self) -> list[Line]:
        """See :class:`Lines`."""
        return _unranked(board.copies(self.session, self.track_id, **self._how))

    def disqualified(self) -> list[Line]:
        """See :class:`Lines`."""
        return _unranked(board.disqualified(self.session, self.track_id, **self._how))


def _unranked(rows: Iterable[Any]) -> list[Line]:
    return [_line(row, None) for row in rows]


def _line(row: Any, rank: int | None) -> Line:
    return Line(
        rank,
        row.ref,
        row.team_id,
        np.nan if row.score is None else row.score,
        row.fid,
        row.memorization_distance,
        bool(row.penalised),
        row.accepted_at,
    )


def by_team(lines: Sequence[Line]) -> dict[int, int | None]:
    """The rank of each team."""
    return {line.team_id: line.rank for line in lines}
