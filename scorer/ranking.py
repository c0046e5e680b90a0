"""The standings, in the plainest words: the definition that the SQL is tested against.

A lower score is better. A team stands where its best entry stands. Scores are compared as they are
shown, rounded to the competition's declared precision; equal ones go to the entry accepted first.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime
from math import floor, isfinite


@dataclass(frozen=True)
class Entry:
    """One scored submission as the board sees it.

    ``score`` is None or nan where there is none. ``copy`` marks an entry that repeats the training
    images (:func:`scorer.metrics.mifid.is_copy`), ``benchmark`` one of the organizers' reference lines.
    """

    ref: int
    team: Hashable
    score: float | None
    accepted_at: datetime
    copy: bool = False
    benchmark: bool = False


@dataclass(frozen=True)
class Placing:
    """One line of the board: ``score`` as rounded, ``rank`` from 1, or None for a benchmark."""

    rank: int | None
    score: float
    entry: Entry


@dataclass(frozen=True)
class Standings:
    """The board from the best line down, and apart from it the teams that have handed in only copies.

    ``copies`` holds the newest entry of each such team, in the order of acceptance.
    """

    placings: tuple[Placing, ...]
    copies: tuple[Entry, ...]


def standings(entries: Iterable[Entry], precision: int) -> Standings:
    """Order entries by score, one line a team, at ``precision`` decimal places.

    Benchmarks are placed among the teams but take no rank. A team without a finite score is on no
    line: what is missing must never come first.
    """
    given = tuple(entries)
    scored = [
        Placing(None, rounded(entry.score, precision), entry)
        for entry in given
        if not entry.copy and entry.score is not None and isfinite(entry.score)
    ]
    scored.sort(key=lambda line: (line.score, line.entry.accepted_at, line.entry.ref))
    best: dict[Hashable, Placing] = {}
    for line in scored:
        best.setdefault(line.entry.team, line)
    placings: list[Placing] = []
    rank = 0
    for line in best.values():
        rank += not line.entry.benchmark
        placings.append(Placing(None if line.entry.benchmark else rank, line.score, line.entry))
    return Standings(tuple(placings), _copies_apart(given))


def would_be_rank(entries: Iterable[Entry], ref: int, precision: int) -> int | None:
    """The rank that the entry ``ref`` would take if its team had no other; None if it could take none."""
    given = tuple(entries)
    (own,) = (entry for entry in given if entry.ref == ref)
    field = [entry for entry in given if entry.team != own.team]
    lines = standings([*field, own], precision).placings
    return next((line.rank for line in lines if line.entry.ref == ref), None)


def _copies_apart(entries: tuple[Entry, ...]) -> tuple[Entry, ...]:
    """The newest entry of every team all of whose entries are copies."""
    others = {entry.team for entry in entries if not entry.copy}
    by_ref = sorted(entries, key=lambda entry: entry.ref)
    newest = {entry.team: entry for entry in by_ref if entry.team not in others}
    return tuple(sorted(newest.values(), key=lambda entry: (entry.accepted_at, entry.ref)))


def rounded(score: float, precision: int) -> float:
    """``score`` to ``precision`` decimals, halves upward, in plain IEEE doubles.

    Not Python's ``round``: PostgreSQL must find the very same number, and for these four operations
    (multiply, add, floor, divide) every IEEE machine does.
    """
    scale = float(10**precision)
    return floor(score * scale + 0.5) / scale


def medal(rank: int, gold: int = 10, silver: int = 50, bronze: int = 100) -> str | None:
    """The medal of a rank, given the last rank of each colour; None below bronze."""
    for name, last in (("gold", gold), ("silver", silver), ("bronze", bronze)):
        if rank <= last:
            return name
    return None
