"""Versions of the private board: which of them were published, and whose rank differs between them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, visible_track
from scorer.db.competitions import tracks_at
from scorer.db.leaderboard import board_details
from scorer.db.tables import Account, Publication
from scorer.leaderboard.rows import ranked_board_of, rows_of
from scorer.lifecycle import Phase
from scorer.ranking.rank_moves import RankMoves, moves_between


@dataclass(frozen=True)
class RankChange:
    """A team whose rank changes; null: no rank."""

    team: str
    before: int | None
    after: int | None


def rank_changes(session: Session, moves: RankMoves) -> list[RankChange]:
    """Moves with the names of the teams."""
    names = board_details.team_names_of(session, moves.team.tolist())
    rows: Iterable[tuple[int, int, int]] = zip(*(column.tolist() for column in moves), strict=True)
    return [RankChange(names[team], before or None, after or None) for team, before, after in rows]


@dataclass(frozen=True)
class ChangesPage:
    """Some rows of a list of changes, and how many the list has."""

    total: int = 0
    after: int = 0
    """How many rows precede these."""
    rows: Sequence[Any] = ()

    @property
    def next_after(self) -> int | None:
        """``after`` of the next page; None at the end."""
        end = self.after + len(self.rows)
        return end if self.rows and end < self.total else None


def newest_version(acts: Sequence[Publication]) -> Publication | None:
    """The newest publication among acts of publishing and withdrawing, which are newest first; None without any."""
    return next((act for act in acts if act.published), None)


def former_version(state: CompetitionState) -> Publication | None:
    """The version with which the board in force is compared: a final one with the version before it (None if there was
    none), a provisional one, which moves, with itself as it was published. None where no board is published."""
    if state.phase is Phase.PROVISIONAL:
        return newest_version(state.publications)
    return newest_version(state.publications[1:]) if state.published else None


def moves_since(session: Session, state: CompetitionState, version: Publication) -> RankMoves:
    """The teams whose rank on the private board is another one than in an earlier version."""
    then = replace(state, tracks=tracks_at(session, state.tracks, version.as_of))
    before = rows_of(session, then, "private", at=version.as_of)
    return moves_between(before, ranked_board_of(session, state, "private"))


def changes_page(
    session: Session, state: CompetitionState, account: Account | None, *, after: int = 0, limit: int
) -> ChangesPage:
    """Some of the teams whose rank the version in force has moved, with their names; none where it is the only one.
    ``Forbidden`` for whoever may not see the private board."""
    visible_track(state, "private", account)
    former = former_version(state)
    if former is None:
        return ChangesPage()
    moves = moves_since(session, state, former)
    return ChangesPage(len(moves.team), after, rank_changes(session, moves.take(slice(after, after + limit))))
