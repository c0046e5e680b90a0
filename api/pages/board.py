"""What the leaderboard page shows of a board: its lines in order, its pages, its medals. Pure."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from scorer.competitions import State, may_see_private, takes_late
from scorer.db.tables import Account
from scorer.leaderboard import Benchmark, Board, Copy, Place
from scorer.ranking import medal

PAGE = 100
SHOWN_COPIES = 100
MEDALS = ("gold", "silver", "bronze")


@dataclass(frozen=True)
class Line:
    """A line of the table. A benchmark has neither rank nor medal, and no entries are counted for it."""

    entry: Place | Benchmark
    place: Place | None
    medal: str | None


@dataclass(frozen=True)
class Leaf:
    """A page of the board; ``previous`` and ``next`` are the ``after`` of its neighbours."""

    lines: Sequence[Line]
    copies: Sequence[Copy]
    more_copies: int
    first: int | None
    last: int | None
    previous: int | None
    next: int | None


@dataclass(frozen=True)
class Tab:
    """One of a competition's boards."""

    text: str
    track: str
    late: bool

    @property
    def query(self) -> str:
        """What addresses the board."""
        return f"track={self.track}" + ("&late=true" if self.late else "")


def tabs_of(state: State, account: Account | None, now: datetime, *, late: bool) -> list[Tab]:
    """The boards that this person may see; none if that is the public one alone. ``late``: one is looked at already."""
    tabs = [Tab("Public", "public", False)]
    if may_see_private(state, account):
        tabs.append(Tab("Private", "private", False))
    if late or takes_late(state, now):
        tabs.append(Tab("After the deadline", "public", True))
    return tabs if len(tabs) > 1 else []


def searched(board: Board, words: str) -> Board:
    """The board with only the teams whose name contains ``words``, whatever the letter case."""
    wanted = _folded(words)

    def has(row: Place | Benchmark | Copy) -> bool:
        return wanted in _folded(row.team)

    return replace(
        board,
        places=[row for row in board.places if has(row)],
        benchmarks=[row for row in board.benchmarks if has(row)],
        copies=[row for row in board.copies if has(row)],
    )


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def leaf_of(board: Board, *, after: int = 0, size: int = PAGE) -> Leaf:
    """The page of ``size`` places that begins after rank ``after``.

    ``board`` holds one place more, if there is one: it tells whether there is a next page, and which benchmarks
    belong there. Copies are on the first page.
    """
    shown, beyond = board.places[:size], board.places[size : size + 1]
    benchmarks = [each for each in board.benchmarks if _is_here(each, shown, beyond, after)]
    last_of = board.state.competition.medals
    lines = [
        *(Line(place, place, medal(place.rank, **last_of)) for place in shown),
        *(Line(each, None, None) for each in benchmarks),
    ]
    copies = board.copies if after == 0 else []
    return Leaf(
        # The sort is stable and lower is better: teams keep their order, a benchmark stands after its equals.
        lines=sorted(lines, key=lambda line: (line.entry.score, line.place is None)),
        copies=copies[:SHOWN_COPIES],
        more_copies=max(0, len(copies) - SHOWN_COPIES),
        first=shown[0].rank if shown else None,
        last=shown[-1].rank if shown else None,
        previous=max(0, after - size) if after else None,
        next=shown[-1].rank if beyond else None,
    )


def _is_here(benchmark: Benchmark, shown: Sequence[Place], beyond: Sequence[Place], after: int) -> bool:
    earlier = after > 0 and (not shown or benchmark.score < shown[0].score)
    later = bool(beyond) and benchmark.score >= beyond[0].score
    return not earlier and not later
