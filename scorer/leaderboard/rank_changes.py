"""Teams whose rank changes, with their names."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from scorer.db.leaderboard import board
from scorer.ranking.rank_moves import RankMoves


@dataclass(frozen=True)
class RankChange:
    """A team whose rank changes; None where it has no rank."""

    team: str
    before: int | None
    after: int | None


def rank_changes(session: Session, moves: RankMoves) -> list[RankChange]:
    """Moves with the names of the teams."""
    names = board.team_names_of(session, moves.team.tolist())
    rows: Iterable[tuple[int, int, int]] = zip(*(column.tolist() for column in moves), strict=True)
    return [RankChange(names[team], before or None, after or None) for team, before, after in rows]
