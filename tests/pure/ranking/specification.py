"""The definition of a board's order: standings, final picks and ranks, entry by entry.

The vectorised ranking (:mod:`scorer.ranking.vectorised`) is tested against it. A lower score is better. A team has the
place of its best entry. Scores are compared as shown, rounded to the competition's precision; of equal scores, the
entry accepted first is better. On the private board only a team's final picks count (:func:`final_refs`,
:func:`final_standings`).
"""

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import floor, isfinite


@dataclass(frozen=True)
class ScoredEntry:
    """One scored submission as the board sees it.

    ``score`` is None or nan if the entry has no score. ``copy`` marks a copy of the training set
    (:func:`scorer.metrics.mifid.is_copy`), ``benchmark`` a benchmark entry, and ``disqualified`` an entry that
    organizers have disqualified and that never ranks.
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
        """Whether it has a score that can be compared."""
        return not self.copy and self.score is not None and isfinite(self.score)


@dataclass(frozen=True)
class RankedEntry:
    """One row of the board: the rounded ``score``, and ``rank`` from 1, or None for a benchmark."""

    rank: int | None
    score: float
    entry: ScoredEntry


@dataclass(frozen=True)
class Standings:
    """The ranked board, best first, and separately the teams without a rank.

    Such a team submitted only copies, or its entries were disqualified. ``copies`` and ``disqualified`` hold its newest
    such entry, in order of acceptance.
    """

    placings: tuple[RankedEntry, ...]
    copies: tuple[ScoredEntry, ...]
    disqualified: tuple[ScoredEntry, ...] = ()


def standings(entries: Iterable[ScoredEntry], precision: int) -> Standings:
    """Order entries by score at ``precision`` decimal places, with one row per team.

    Benchmarks are placed among the teams but take no rank. A team without a finite score has no row, because a missing
    score must never come first.
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
    return Standings(tuple(placings), _copies_apart(all_entries), _newest_rows(disqualified))


def final_refs(
    public: Iterable[ScoredEntry], picks: Mapping[Hashable, Collection[int]], max_finals: int, precision: int
) -> dict[Hashable, tuple[int, ...]]:
    """The refs of the entries that determine each team's final rank.

    They are the team's picks (``picks``) that are its own and measured: a team may pick an entry that is waiting and is
    rejected later. A team without such picks is ranked by its ``max_finals`` best entries of the public board, without
    regard to rulings. A disqualified entry is therefore not replaced, just as a disqualified pick is not.
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
    """The private board, where each team has the best private score among its :func:`final_refs`.

    A team without such an entry is listed separately if it submitted copies or was disqualified.
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
    """The rank that entry ``ref`` would have as its team's only entry, or None if it could not rank."""
    all_entries = tuple(entries)
    (own,) = (entry for entry in all_entries if entry.ref == ref)
    others = [entry for entry in all_entries if entry.team != own.team]
    lines = standings([*others, own], precision).placings
    return next((line.rank for line in lines if line.entry.ref == ref), None)


def _in_order(entries: Iterable[ScoredEntry], precision: int) -> list[ScoredEntry]:
    """Scored entries, best first."""
    return sorted(entries, key=lambda entry: (round_score(entry.score or 0.0, precision), entry.accepted_at, entry.ref))


def _copies_apart(entries: tuple[ScoredEntry, ...]) -> tuple[ScoredEntry, ...]:
    """The newest entry of every team with only copies and no disqualified entry."""
    others = {entry.team for entry in entries if entry.disqualified or not entry.copy}
    return _newest_rows(entry for entry in entries if entry.team not in others)


def _newest_rows(entries: Iterable[ScoredEntry]) -> tuple[ScoredEntry, ...]:
    newest = {entry.team: entry for entry in sorted(entries, key=lambda entry: entry.ref)}
    return tuple(sorted(newest.values(), key=lambda entry: (entry.accepted_at, entry.ref)))


def round_score(score: float, precision: int) -> float:
    """``score`` to ``precision`` decimals, halves upward, in plain IEEE doubles.

    Unlike Python's ``round``, numpy computes the same number: these four operations (multiply, add, floor, divide) give
    the same bits on every IEEE machine.
    """
    scale = float(10**precision)
    return floor(score * scale + 0.5) / scale
