"""The lists of an impact, page by page: what of it people read, with the names of submissions and teams."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy.orm import Session

from scorer.db.leaderboard import board
from scorer.leaderboard.rank_changes import RankChange, rank_changes
from scorer.ranking.columns import Ints
from scorer.ranking.judged_entries import JudgedEntries
from scorer.submissions.labels import LABELS, LabelColumns
from scorer.tuning.impact import AwardMove, ThresholdImpact

ListName = Literal["penalised", "freed", "borderline", "moves", "medals", "prizes"]
LIST_NAMES: tuple[ListName, ...] = get_args(ListName)
LISTED = 100
"""Rows of each list that an impact begins with; the others are read by pages."""


@dataclass(frozen=True)
class PenaltyChange:
    """An entry that a new tau penalises or frees, or that is near tau."""

    submission_id: str
    team: str
    memorization_distance: float
    label: str | None


@dataclass(frozen=True)
class AwardChange:
    """A team whose medal or prize a new tau changes; None where it has none."""

    team: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class ImpactPage:
    """Some rows of a list, and how many the list has."""

    total: int
    after: int
    """How many rows precede these."""
    rows: Sequence[PenaltyChange | RankChange | AwardChange]

    @property
    def next_after(self) -> int | None:
        """``after`` of the next page; None at the end."""
        end = self.after + len(self.rows)
        return end if self.rows and end < self.total else None


def lists_of(session: Session, impact: ThresholdImpact, limit: int = LISTED) -> dict[ListName, ImpactPage]:
    """The first rows of every list of an impact."""
    return {name: page_of(session, impact, name, limit=limit) for name in LIST_NAMES}


def page_of(session: Session, impact: ThresholdImpact, name: ListName, *, after: int = 0, limit: int) -> ImpactPage:
    """The rows of one list from number ``after + 1`` on, at most ``limit``."""
    page = slice(after, after + limit)
    if name == "moves":
        moves = impact.moves
        return ImpactPage(len(moves.team), after, rank_changes(session, moves.take(page)))
    if name in {"medals", "prizes"}:
        awards: Sequence[AwardMove] = getattr(impact, name)
        return ImpactPage(len(awards), after, award_changes(session, awards[page]))
    rows: Ints = getattr(impact, name)
    changes = penalty_changes(session, impact.after.judged, impact.labels, impact.closest(rows, after, limit))
    return ImpactPage(len(rows), after, changes)


def penalty_changes(session: Session, judged: JudgedEntries, labels: LabelColumns, page: Ints) -> list[PenaltyChange]:
    """Entries of a page, given by their rows in the columns that ``labels`` stand beside."""
    refs, teams = judged.columns.ref[page].tolist(), judged.team[page].tolist()
    ids = board.submission_ids_of(session, refs)
    names = board.team_names_of(session, teams)
    distances, numbers = judged.columns.distance[page].tolist(), labels.number[page].tolist()
    return [
        PenaltyChange(ids[ref], names[team], distance, LABELS[number] if number >= 0 else None)
        for ref, team, distance, number in zip(refs, teams, distances, numbers, strict=True)
    ]


def award_changes(session: Session, moves: Collection[AwardMove]) -> list[AwardChange]:
    """Moves of awards with the names of the teams."""
    names: Mapping[int, str] = board.team_names_of(session, [move.team for move in moves])
    return [AwardChange(names[move.team], move.before, move.after) for move in moves]
