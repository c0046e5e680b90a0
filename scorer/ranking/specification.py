"""The standings, in the plainest words: the definition that the ranking of columns (:mod:`scorer.ranking.vectorised`)
is tested
against; and what a rank wins.

A lower score is better. A team stands where its best entry stands. Scores are compared as they are
shown, rounded to the competition's declared precision; equal ones go to the entry accepted first.
In the end only a team's final picks count (:func:`finals`, :func:`final_standings`).
"""

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import floor, isfinite


@dataclass(frozen=True)
class ScoredEntry:
    """One scored submission as the board sees it.

    ``score`` is None or nan where there is none. ``copy`` marks an entry that repeats the training
    images (:func:`scorer.metrics.mifid.is_copy`), ``benchmark`` one of the organizers' reference lines,
    ``disqualified`` one that the organizers have ruled out: it ranks nowhere.
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
    """One line of the board: ``score`` as rounded, ``rank`` from 1, or None for a benchmark."""

    rank: int | None
    score: float
    entry: ScoredEntry


@dataclass(frozen=True)
class Standings:
    """The board from the best line down, and apart from it the teams that are on no line because they have handed in
    only copies, or because what would have ranked was disqualified.

    ``copies`` and ``disqualified`` hold the newest such entry of each team, in the order of acceptance.
    """

    placings: tuple[RankedEntry, ...]
    copies: tuple[ScoredEntry, ...]
    disqualified: tuple[ScoredEntry, ...] = ()


def standings(entries: Iterable[ScoredEntry], precision: int) -> Standings:
    """Order entries by score, one line a team, at ``precision`` decimal places.

    Benchmarks are placed among the teams but take no rank. A team without a finite score is on no
    line: what is missing must never come first.
    """
    given = tuple(entries)
    best: dict[Hashable, RankedEntry] = {}
    for entry in _in_order((each for each in given if each.scored and not each.disqualified), precision):
        best.setdefault(entry.team, RankedEntry(None, round_score(entry.score or 0.0, precision), entry))
    placings: list[RankedEntry] = []
    rank = 0
    for line in best.values():
        rank += not line.entry.benchmark
        placings.append(RankedEntry(None if line.entry.benchmark else rank, line.score, line.entry))
    out = [entry for entry in given if entry.disqualified and entry.team not in best]
    return Standings(tuple(placings), _copies_apart(given), _newest_of_each(out))


def final_refs(
    public: Iterable[ScoredEntry], picks: Mapping[Hashable, Collection[int]], most: int, precision: int
) -> dict[Hashable, tuple[int, ...]]:
    """The refs of the entries that each team is ranked by in the end.

    They are what the team picked (``picks``), as far as those entries are its own. A team that picks nothing is
    ranked by its ``most`` best entries of the public board, as they would stand without rulings: a disqualified entry
    drops out of them as it drops out of picks, so that whoever does not choose gains no replacement.
    """
    given = [entry for entry in public if not entry.benchmark]
    own = {(entry.team, entry.ref) for entry in given}
    chosen = {team: tuple(ref for ref in refs if (team, ref) in own) for team, refs in picks.items() if refs}
    for entry in _in_order((each for each in given if each.scored), precision):
        before = chosen.get(entry.team, ())
        if not picks.get(entry.team) and len(before) < most:
            chosen[entry.team] = (*before, entry.ref)
    return chosen


def final_standings(
    private: Iterable[ScoredEntry], final: Mapping[Hashable, Collection[int]], precision: int
) -> Standings:
    """The private board: each team by the best private score among its :func:`finals`.

    A team that has nothing to be ranked by is listed apart if what it has handed in are copies, or was disqualified.
    """
    counted = [
        entry
        for entry in private
        if entry.benchmark
        or entry.ref in final.get(entry.team, ())
        or (not final.get(entry.team) and (entry.copy or entry.disqualified))
    ]
    return standings(counted, precision)


def would_be_rank(entries: Iterable[ScoredEntry], ref: int, precision: int) -> int | None:
    """The rank that the entry ``ref`` would take if its team had no other; None if it could take none."""
    given = tuple(entries)
    (own,) = (entry for entry in given if entry.ref == ref)
    field = [entry for entry in given if entry.team != own.team]
    lines = standings([*field, own], precision).placings
    return next((line.rank for line in lines if line.entry.ref == ref), None)


def _in_order(entries: Iterable[ScoredEntry], precision: int) -> list[ScoredEntry]:
    """Scored entries, best first."""
    return sorted(entries, key=lambda each: (round_score(each.score or 0.0, precision), each.accepted_at, each.ref))


def _copies_apart(entries: tuple[ScoredEntry, ...]) -> tuple[ScoredEntry, ...]:
    """The newest entry of every team all of whose entries are copies, none of them ruled out."""
    others = {entry.team for entry in entries if entry.disqualified or not entry.copy}
    return _newest_of_each(entry for entry in entries if entry.team not in others)


def _newest_of_each(entries: Iterable[ScoredEntry]) -> tuple[ScoredEntry, ...]:
    newest = {entry.team: entry for entry in sorted(entries, key=lambda entry: entry.ref)}
    return tuple(sorted(newest.values(), key=lambda entry: (entry.accepted_at, entry.ref)))


def round_score(score: float, precision: int) -> float:
    """``score`` to ``precision`` decimals, halves upward, in plain IEEE doubles.

    Not Python's ``round``: numpy must find the very same number, and for these four operations (multiply, add, floor,
    divide) every IEEE machine does.
    """
    scale = float(10**precision)
    return floor(score * scale + 0.5) / scale
