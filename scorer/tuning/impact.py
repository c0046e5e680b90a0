"""The impact of another tau: penalties, ranks and medals that change, and how much review is left. Pure."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scorer.ranking.awards import medal
from scorer.submissions.labels import LabelInfo

TAU_ABOVE_ALL = 3.0
"""A tau above every memorization distance (at most 2): an entry that it does not penalise, no tau does."""


@dataclass(frozen=True)
class PenaltyChange:
    """An entry that a new tau penalises or frees."""

    submission_id: str
    team: str
    memorization_distance: float
    label: str | None


@dataclass(frozen=True)
class RankMove:
    """A team whose rank a new tau changes; None where it has no rank."""

    team: str
    before: int | None
    after: int | None


@dataclass(frozen=True)
class MedalMove:
    """A team whose medal a new tau changes; None where it has none."""

    team: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class ReviewWorkload:
    """How many entries reviewers must decide until every medal place is held by an entry not known to memorise.

    Entries known to memorise are passed over, since they will not keep their place, and the next best entry counts.
    An undecided entry may still turn out to memorise, so ``open`` is a lower bound of the reviews that are left.
    """

    places: int
    """Medal places that can be filled."""
    looked: int
    """Entries from rank 1 down to the one that fills the last place."""
    open: int
    """Those of them without a decided label."""


def moves_of(before: Mapping[str, int], after: Mapping[str, int]) -> list[RankMove]:
    """Teams whose rank changes, in the order of their new ranks."""
    teams = sorted(before.keys() | after.keys(), key=lambda team: (after.get(team, math.inf), before.get(team, 0)))
    moves = [RankMove(team, before.get(team), after.get(team)) for team in teams]
    return [move for move in moves if move.before != move.after]


def medal_moves_of(moves: Iterable[RankMove], last: Mapping[str, int]) -> list[MedalMove]:
    """Teams whose medal changes; ``last`` is the last place of each medal, by its colour."""

    def colour(rank: int | None) -> str | None:
        return None if rank is None else medal(rank, **last)

    changed = [MedalMove(move.team, colour(move.before), colour(move.after)) for move in moves]
    return [move for move in changed if move.before != move.after]


def review_workload_of(ranked: Iterable[int], labels: Mapping[int, LabelInfo], places: int) -> ReviewWorkload:
    """The workload for ``places`` medal places. ``ranked``: the refs of the ranked entries from rank 1 down;
    ``labels``: what is known of entries, by ref."""
    filled = looked = undecided = 0
    for ref in ranked:
        if filled == places:
            break
        label = labels.get(ref)
        looked += 1
        undecided += label is None
        filled += label is None or label.memorising is not True
    return ReviewWorkload(filled, looked, undecided)
