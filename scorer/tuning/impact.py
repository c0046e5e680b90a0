"""The impact of another tau: changes of penalties, ranks, medals and prizes, and the remaining reviews.

Everything is computed over columns, because there may be a million entries: nothing here makes an object for each.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal, NamedTuple, get_args

import numpy as np
from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer.db.leaderboard import board_details
from scorer.leaderboard.board_versions import ChangesPage, rank_changes
from scorer.metrics.statistics.threshold_selection import is_borderline
from scorer.ranking.awards import Awards
from scorer.ranking.columns import Flags, Ints, in_blocks
from scorer.ranking.judged_entries import JudgedEntries
from scorer.ranking.rank_moves import RankMoves, moves_between
from scorer.ranking.vectorised import RankedBoard
from scorer.submissions.labels import LABELS, LabelColumns


class AwardMove(NamedTuple):
    """A team with a change of its medal or prize; None means no award."""

    team: int
    before: str | None
    after: str | None


@dataclass(frozen=True)
class ReviewWorkload:
    """How many submissions must be reviewed until every winning place has one that is not labelled as memorising.

    Submissions known to memorise are skipped, because they will lose their rank; the next best one counts instead. An
    undecided submission may still turn out to memorise, so `open` is a lower bound.
    """

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    places: int
    """Places that win a medal or a prize and can be filled."""
    looked: int
    """Submissions to go through, starting at rank 1, until these places are filled."""
    open: int
    """How many of these have no decided label. At least this many reviews are left."""


@dataclass(frozen=True)
class ThresholdImpact:
    """The changes of another tau: two boards of the same entries, compared.

    ``after`` is the board of ``before.judged.under(tau)``. ``labels`` has the same rows as the columns of both boards.
    Entries are identified by these rows.
    """

    before: RankedBoard
    after: RankedBoard
    labels: LabelColumns
    awards: Awards

    @cached_property
    def is_competing(self) -> Flags:
        """Whether tau is chosen over this entry, by row."""
        return self.after.judged.is_competing

    @property
    def entries(self) -> int:
        return int(np.count_nonzero(self.is_competing))

    @property
    def below(self) -> int:
        """How many of them the new tau penalises."""
        return int(np.count_nonzero(self.is_competing & self.after.judged.penalised))

    @cached_property
    def penalised(self) -> Ints:
        """Entries that the new tau penalises and the old one does not."""
        return self._competing(self.after.judged.penalised & ~self.before.judged.penalised)

    @cached_property
    def freed(self) -> Ints:
        """Entries that the old tau penalises and the new one does not."""
        return self._competing(self.before.judged.penalised & ~self.after.judged.penalised)

    @cached_property
    def borderline(self) -> Ints:
        """Entries with a distance within two standard errors of the new tau."""
        judged = self.after.judged
        near = partial(is_borderline, tau=judged.rules.tau)
        return self._competing(in_blocks(near, judged.columns.distance, judged.columns.distance_se))

    def _competing(self, chosen: Flags) -> Ints:
        return np.flatnonzero(chosen & self.is_competing)

    def closest(self, rows: Ints, after: int, limit: int) -> Ints:
        """At most ``limit`` of these rows, from number ``after + 1`` on, sorted by memorization distance, then by age.
        Sorts no more rows than needed, because a tau may penalise half a million."""
        distances = self.after.judged.columns.distance[rows]
        end = after + limit
        if end < len(rows):
            near = np.flatnonzero(distances <= np.partition(distances, end - 1)[end - 1])
            rows, distances = rows[near], distances[near]
        return rows[np.argsort(distances, kind="stable")[after:end]]  # rows are sorted by ref, so ties are too

    @cached_property
    def moves(self) -> RankMoves:
        return moves_between(self.before, self.after)

    @cached_property
    def reviews(self) -> ReviewWorkload:
        return self._reviews(self.after)

    @cached_property
    def reviews_before(self) -> ReviewWorkload:
        return self._reviews(self.before)

    def _reviews(self, board: RankedBoard) -> ReviewWorkload:
        places = self.awards.last_winning_rank
        fills_place = self.labels.memorising[board.rows] != 1.0
        looked = min(len(board.rows), int(np.searchsorted(np.cumsum(fills_place), places)) + 1) if places else 0
        undecided = self.labels.number[board.rows[:looked]] < 0
        return ReviewWorkload(int(fills_place[:looked].sum()), looked, int(undecided.sum()))


def award_moves(moves: RankMoves, awards: Awards, award: str) -> Sequence[AwardMove]:
    """Teams with a change of ``medal`` or ``prize``, in the order of their new ranks."""
    teams = zip(*(column.tolist() for column in moves.take_first(awards.last_winning_rank)), strict=True)
    changes = [
        AwardMove(team, *(getattr(awards.find_award(rank), award) for rank in (before, after)))
        for team, before, after in teams
    ]
    return [change for change in changes if change.before != change.after]


ListName = Literal["penalised", "freed", "borderline", "moves", "medals", "prizes"]
LIST_NAMES: tuple[ListName, ...] = get_args(ListName)
LISTED = 100
"""How many rows of each list an impact includes. Further rows are read page by page."""


@dataclass(frozen=True)
class PenaltyChange:
    """A submission that is newly penalised, no longer penalised, or close to tau."""

    submission_id: str
    team: str
    memorization_distance: float
    label: str | None


@dataclass(frozen=True)
class AwardChange:
    """A team whose medal (`gold`, `silver`, `bronze`) or prize (its amount) changes; null means none."""

    team: str
    before: str | None
    after: str | None


def load_page(session: Session, impact: ThresholdImpact, name: ListName, *, after: int = 0, limit: int) -> ChangesPage:
    """At most ``limit`` rows of one list, from number ``after + 1`` on."""
    page = slice(after, after + limit)
    if name == "moves":
        moves = impact.moves
        return ChangesPage(len(moves.team), after, rank_changes(session, moves.take(page)))
    if name in {"medals", "prizes"}:
        awards = award_moves(impact.moves, impact.awards, name.removesuffix("s"))
        return ChangesPage(len(awards), after, award_changes(session, awards[page]))
    rows: Ints = getattr(impact, name)
    entries = penalty_changes(session, impact.after.judged, impact.labels, page=impact.closest(rows, after, limit))
    return ChangesPage(len(rows), after, entries)


def penalty_changes(
    session: Session, judged: JudgedEntries, labels: LabelColumns, *, page: Ints
) -> list[PenaltyChange]:
    """``page``: the rows of the entries in the columns."""
    refs: list[int] = judged.columns.ref[page].tolist()
    names = board_details.load_entry_names(session, refs)
    distances, numbers = judged.columns.distance[page].tolist(), labels.number[page].tolist()
    return [
        PenaltyChange(*names[ref], distance, LABELS[number] if number >= 0 else None)
        for ref, distance, number in zip(refs, distances, numbers, strict=True)
    ]


def award_changes(session: Session, moves: Collection[AwardMove]) -> list[AwardChange]:
    names = board_details.load_team_names(session, [move.team for move in moves])
    return [AwardChange(names[move.team], move.before, move.after) for move in moves]
