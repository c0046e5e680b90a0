"""The standings, in the plainest words: the definition that the SQL is tested against.

A lower score is better. A team stands where its best entry stands. Scores are compared as they are
shown, rounded to the competition's declared precision; equal ones go to the entry accepted first.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from math import floor, isfinite


@dataclass(frozen=True)
class Entry:
    """One scored submission as the board sees it.

    ``team`` is None for a benchmark entry. ``score`` is None or nan where there is none. ``copy`` marks
    an entry that repeats the training images and so has no score (:func:`scorer.metrics.mifid.is_copy`).
    """

    ref: int
    team: int | None
    score: float | None
    accepted_at: datetime
    copy: bool = False
    benchmark: bool = False


@dataclass(frozen=True)
class Placing:
    """One line of the board: ``score`` as rounded, ``rank`` from 1, or None for a benchmark entry."""

    rank: int | None
    score: float
    entry: Entry


@dataclass(frozen=True)
class Standings:
    """The board from the best line down, and apart from it the copies in the order they came."""

    placings: tuple[Placing, ...]
    copies: tuple[Entry, ...]


def standings(entries: Iterable[Entry], precision: int) -> Standings:
    """Rank entries by score, one line a team, at ``precision`` decimal places.

    Every benchmark entry keeps its own line, placed among the others without a rank. Entries without
    a finite score are on no line: what is missing must never come first.
    """
    given = tuple(entries)
    copies = sorted(
        (entry for entry in given if entry.copy), key=lambda entry: (entry.accepted_at, entry.ref)
    )
    scored = [
        Placing(None, rounded(entry.score, precision), entry)
        for entry in given
        if not entry.copy and entry.score is not None and isfinite(entry.score)
    ]
    scored.sort(key=lambda line: (line.score, line.entry.accepted_at, line.entry.ref))
    placings: list[Placing] = []
    seen: set[int | None] = set()
    for line in scored:
        if line.entry.benchmark:
            placings.append(line)
        elif line.entry.team not in seen:
            seen.add(line.entry.team)
            placings.append(Placing(len(seen), line.score, line.entry))
    return Standings(tuple(placings), tuple(copies))


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
