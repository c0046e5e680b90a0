"""The lines of one board: ranked entries out of the process's memory where it keeps boards
(:mod:`scorer.leaderboard.board_cache`), else
of columns that are read for this one question."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from sqlalchemy.orm import Session

from scorer.db.leaderboard import columns as leaderboard_columns
from scorer.db.tables import Competition, Track
from scorer.leaderboard import board_cache
from scorer.ranking.columns import Ints
from scorer.ranking.vectorised import RankedBoard, finals_of, order_of


class BoardRow(NamedTuple):
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


@dataclass(frozen=True)
class BoardRows:
    """A board from rank 1 on, and what stands apart."""

    order: RankedBoard

    def __len__(self) -> int:
        """How many teams have a rank."""
        return len(self.order)

    def page(self, after: int, limit: int | None) -> list[BoardRow]:
        """The lines from rank ``after + 1`` on, at most ``limit``."""
        end = len(self.order) if limit is None else after + limit
        return self._lines(self.order.rows[after:end], after + 1)

    def of_teams(self, team_ids: Collection[int]) -> list[BoardRow]:
        """Those of the teams that have a rank, best first."""
        ranks = sorted(filter(None, map(self.order.rank_of_team, team_ids)))
        return [line for rank in ranks for line in self.page(rank - 1, 1)]

    def benchmarks(self) -> list[BoardRow]:
        """Reference lines, best first."""
        return self._lines(self.order.benchmarks)

    def copies(self) -> list[BoardRow]:
        """The newest entry of each team that has nothing but copies."""
        return self._lines(self.order.copies)

    def disqualified(self) -> list[BoardRow]:
        """The newest disqualified entry of each team that is on no line because of it."""
        return self._lines(self.order.disqualified)

    def _lines(self, rows: Ints, first: int | None = None) -> list[BoardRow]:
        judged, field = self.order.judged, self.order.judged.columns
        columns = (field.ref, judged.team, judged.score, field.fid, field.distance, judged.penalised, field.accepted_at)
        numbers = zip(*(column[rows].tolist() for column in columns), strict=True)
        return [
            BoardRow._make(
                (
                    None if first is None else first + place,
                    *found[:-1],
                    leaderboard_columns.from_microseconds(found[-1]),
                )
            )
            for place, found in enumerate(numbers)
        ]


def rows_of(
    session: Session,
    competition: Competition,
    tracks: Mapping[str, Track],
    kind: str,
    *,
    late: bool = False,
    at: datetime | None = None,
) -> BoardRows:
    """The lines of a track's board: of late entries (``late``), as it was at a moment (``at``)."""
    return BoardRows(ranked_board_of(session, competition, tracks, kind, late=late, at=at))


def ranked_board_of(
    session: Session,
    competition: Competition,
    tracks: Mapping[str, Track],
    kind: str,
    *,
    late: bool = False,
    at: datetime | None = None,
) -> RankedBoard:
    """The ranked entries of a track: out of the process's memory where it keeps boards, which knows what is committed;
    else :func:`read_order`."""
    kept = board_cache.cache_of(session)
    if kept is not None:
        return kept.order(competition, tracks, kind, late=late, at=at)
    return read_ranked_board(session, competition, tracks, kind, late=late, at=at)


def read_ranked_board(
    session: Session,
    competition: Competition,
    tracks: Mapping[str, Track],
    kind: str,
    *,
    late: bool = False,
    at: datetime | None = None,
) -> RankedBoard:
    """The ranked entries of a track, read from the tables as this transaction sees them, with what it has written."""
    session.flush()  # reading columns is no query of the session's, which would do so itself
    connection = session.connection()
    judged = leaderboard_columns.judged_of(connection, tracks[kind].id, at=at)
    if kind == "private":
        public = leaderboard_columns.judged_of(connection, tracks["public"].id, at=at)
        picks = leaderboard_columns.picks_of(connection, competition.id, at=at)
        judged = replace(judged, finals=finals_of(public, picks, competition.final_picks))
    return order_of(judged, late=late)


def ranks_by_team(lines: Sequence[BoardRow]) -> dict[int, int | None]:
    """The rank of each team."""
    return {line.team_id: line.rank for line in lines}
