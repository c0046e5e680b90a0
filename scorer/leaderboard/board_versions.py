"""Versions of the private board: which were published, and which ranks differ between them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, visible_track
from scorer.db.competitions import tracks_at
from scorer.db.leaderboard import board_details
from scorer.db.tables import Account, Publication
from scorer.leaderboard.rows import load_listing, load_ranked_board
from scorer.lifecycle import Phase
from scorer.ranking.rank_moves import RankMoves, moves_between


@dataclass(frozen=True)
class RankChange:
    """A team whose rank changes; null means no rank."""

    team: str
    before: int | None
    after: int | None


def rank_changes(session: Session, moves: RankMoves) -> list[RankChange]:
    names = board_details.load_team_names(session, moves.team.tolist())
    rows: Iterable[tuple[int, int, int]] = zip(*(column.tolist() for column in moves), strict=True)
    return [RankChange(names[team], before or None, after or None) for team, before, after in rows]


@dataclass(frozen=True)
class ChangesPage:
    """One page of a list of changes, and the length of the list."""

    total: int = 0
    after: int = 0
    """How many rows precede this page."""
    rows: Sequence[Any] = ()

    @property
    def next_after(self) -> int | None:
        """The ``after`` of the next page; None on the last page."""
        end = self.after + len(self.rows)
        return end if self.rows and end < self.total else None


def newest_version(acts: Sequence[Publication]) -> Publication | None:
    """The newest publication in a list that also has withdrawals, newest first; None if there is none."""
    return next((act for act in acts if act.published), None)


def former_version(state: CompetitionState) -> Publication | None:
    """The version that the current board is compared with; None if no board is published, or there was no earlier
    version.

    A provisional board can still change, so it is compared with its own state when it was published. A final board is
    compared with the version before it.
    """
    if state.phase is Phase.PROVISIONAL:
        return newest_version(state.publications)
    return newest_version(state.publications[1:]) if state.published else None


def moves_since(session: Session, state: CompetitionState, version: Publication) -> RankMoves:
    """The teams whose rank on the private board differs from that in an earlier version."""
    then = replace(state, tracks=tracks_at(session, state.tracks, version.as_of))
    before = load_listing(session, then, "private", at=version.as_of)
    return moves_between(before, load_ranked_board(session, state, "private"))


def changes_page(
    session: Session, state: CompetitionState, account: Account | None, *, after: int = 0, limit: int
) -> ChangesPage:
    """A page of the teams whose rank the current version has changed; empty if it is the only version.

    ``Forbidden`` if this person may not see the private board.
    """
    visible_track(state, "private", account)
    former = former_version(state)
    if former is None:
        return ChangesPage()
    moves = moves_since(session, state, former)
    return ChangesPage(len(moves.team), after, rank_changes(session, moves.take(slice(after, after + limit))))
