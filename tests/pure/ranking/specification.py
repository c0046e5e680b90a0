"""The definition of a board's order: standings, final picks and ranks, entry by entry.

The ranking by columns (:mod:`scorer.ranking.vectorised`) and by SQL is tested against it. A lower score is better. A
team's place is that of its best entry. Scores are compared as they are shown, rounded to the competition's declared
precision; ties go to the entry accepted first. In the end only a team's final picks count (:func:`final_refs`,
:func:`final_standings`).
"""

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import floor, isfinite


@dataclass(frozen=True)
class ScoredEntry:
    """One scored submission as the board sees it.

    ``score`` is None or nan where there is none. ``copy`` marks a copy of the training set
    (:func:`scorer.metrics.mifid.is_copy`), ``benchmark`` an organizer's reference line, ``disqualified`` an entry
    that organizers have disqualified: it ranks nowhere.
    """

    ref: int
    team: Hashable
    score: float | None
    accepted_at: datetime
    copy: bool = False
    benchmark: bool = False
    disqualified: bool = False

    @property
    def scored(self) -> bool:
        """Whether it has a number that can be compared."""
        return not self.copy and self.score is not None and isfinite(self.score)


@dataclass(frozen=True)
class RankedEntry:
    """One row of the board: ``score`` as rounded, ``rank`` from 1, or None for a benchmark."""

    rank: int | None
    score: float
    entry: ScoredEntry


@dataclass(frozen=True)
class Standings:
    """The ranked board, best first, and apart from it the teams without a rank: they submitted only copies, or
    their entries were disqualified.

    ``copies`` and ``disqualified`` hold the newest such entry of each team, in the order of acceptance.
    """

    placings: tuple[RankedEntry, ...]
    copies: tuple[ScoredEntry, ...]
    disqualified: tuple[ScoredEntry, ...] = ()


def standings(entries: Iterable[ScoredEntry], precision: int) -> Standings:
    """Order entries by score, one row a team, at ``precision`` decimal places.

    Benchmarks are placed among the teams but take no rank. A team without a finite score has no row: a
    missing score must never come first.
    """
    all_entries = tuple(entries)
    best: dict[Hashable, RankedEntry] = {}
    for entry in _in_order((entry for entry in all_entries if entry.scored and not entry.disqualified), precision):
        best.setdefault(entry.team, RankedEntry(None, round_score(entry.score or 0.0, precision), entry))
    placings: list[RankedEntry] = []
    rank = 0
    for line in best.values():
        rank += not line.entry.benchmark
        placings.append(RankedEntry(None if line.entry.benchmark else rank, line.score, line.entry))
    disqualified = [entry for entry in all_entries if entry.disqualified and entry.team not in best]
    return Standings(tuple(placings), _copies_apart(all_entries), _newest_of_each(disqualified))


def final_refs(
    public: Iterable[ScoredEntry], picks: Mapping[Hashable, Collection[int]], max_finals: int, precision: int
) -> dict[Hashable, tuple[int, ...]]:
    """The refs of the entries by which each team is ranked in the end.

    They are the team's picks (``picks``), as far as those entries are its own and measured: an entry may be picked
    while it waits, and may be rejected then. A team without such picks is ranked by its ``max_finals`` best entries of
    the public board, as they would stand without rulings: a disqualified entry drops out of them as it drops out of
    picks, so that a team gains no replacement by not picking.
    """
    team_entries = [entry for entry in public if not entry.benchmark]
    own_refs = {(entry.team, entry.ref) for entry in team_entries}
    picked = {team: tuple(ref for ref in refs if (team, ref) in own_refs) for team, refs in picks.items()}
    chosen = {team: refs for team, refs in picked.items() if refs}
    for entry in _in_order((entry for entry in team_entries if entry.scored), precision):
        best = chosen.get(entry.team, ())
        if not picked.get(entry.team) and len(best) < max_finals:
            chosen[entry.team] = (*best, entry.ref)
    return chosen


def final_standings(
    private: Iterable[ScoredEntry], final: Mapping[Hashable, Collection[int]], precision: int
) -> Standings:
    """The private board: each team by the best private score among its :func:`final_refs`.

    A team without an entry to be ranked by is listed apart if it submitted copies or was disqualified.
    """
    counting_entries = [
        entry
        for entry in private
        if entry.benchmark
        or entry.ref in final.get(entry.team, ())
        or (not final.get(entry.team) and (entry.copy or entry.disqualified))
    ]
    return standings(counting_entries, precision)


def would_be_rank(entries: Iterable[ScoredEntry], ref: int, precision: int) -> int | None:
    """The rank that the entry ``ref`` would take if its team had no other; None if it could take none."""
    all_entries = tuple(entries)
    (own,) = (entry for entry in all_entries if entry.ref == ref)
    others = [entry for entry in all_entries if entry.team != own.team]
    lines = standings([*others, own], precision).placings
    return next((line.rank for line in lines if line.entry.ref == ref), None)


def _in_order(entries: Iterable[ScoredEntry], precision: int) -> list[ScoredEntry]:
    """Scored entries, best first."""
    return sorted(entries, key=lambda each: (round_score(each.score or 0.0, precision), each.accepted_at, each.ref))


def _copies_apart(entries: tuple[ScoredEntry, ...]) -> tuple[ScoredEntry, ...]:
    """The newest entry of every team that has only copies, none of them disqualified."""
    others = {entry.team for entry in entries if entry.disqualified or not entry.copy}
    return _newest_of_each(entry for entry in entries if entry.team not in others)


def _newest_of_each(entries: Iterable[ScoredEntry]) -> tuple[ScoredEntry, ...]:
    newest = {entry.team: entry for entry in sorted(entries, key=lambda entry: entry.ref)}
    return tuple(sorted(newest.values(), key=lambda entry: (entry.accepted_at, entry.ref)))


def round_score(score: float, precision: int) -> float:
    """``score`` to ``precision`` decimals, halves upward, in plain IEEE doubles.

    Not Python's ``round``: numpy must compute the same number, and these four operations (multiply, add, floor,
    divide) are exact to the bit on every IEEE machine.
    """
    scale = float(10**precision)
    return floor(score * scale + 0.5) / scale
