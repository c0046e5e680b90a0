"""A page of the leaderboard, from a board: its rows in order, its neighbours, the tabs of other boards. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from scorer.competitions.competition_state import CompetitionState, may_see_private, takes_late
from scorer.db.tables import Account
from scorer.leaderboard.board import Benchmark, Board, CopyingTeam, DisqualifiedTeam, Place
from scorer.lifecycle import TrackKind

PAGE_SIZE = 100
MAX_SHOWN_APART = 100
"""Rows of the list of copies, and of that of disqualified teams."""


def _in_utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


AsOfTime = Annotated[
    datetime | None, BeforeValidator(lambda value: None if value == "" else value), AfterValidator(_in_utc)
]
"""A time in a page's query string, as a form field sends it: UTC where it names no zone, None where it is empty."""


@dataclass(frozen=True)
class TableRow:
    """A row of the table. A benchmark has no place: neither rank nor medal, and its entries are not counted."""

    entry: Place | Benchmark
    place: Place | None
    own: bool = False
    """Whether it is the row of the viewer's team."""


@dataclass(frozen=True)
class BoardPage:
    """A page of the board; ``previous`` and ``next`` are the ``after`` of its neighbours."""

    rows: Sequence[TableRow]
    own: TableRow | None
    """The row of the viewer's team, unless it is among ``rows``."""
    copies: Sequence[CopyingTeam]
    more_copies: int
    disqualified: Sequence[DisqualifiedTeam]
    more_disqualified: int
    first: int | None
    last: int | None
    previous: int | None
    next: int | None


@dataclass(frozen=True)
class BoardTab:
    """One of a competition's boards."""

    text: str
    track: TrackKind
    late: bool

    @property
    def query(self) -> str:
        """The query string that addresses the board."""
        return f"track={self.track}" + ("&late=true" if self.late else "")


def board_tabs_of(state: CompetitionState, account: Account | None, now: datetime, *, late: bool) -> list[BoardTab]:
    """The boards that this person may see; empty if that is the public one alone. ``late``: the late board is on
    display, so it gets a tab in any case."""
    kinds: list[TrackKind] = ["public", "private"] if may_see_private(state, account) else ["public"]
    kinds.sort(key=lambda kind: kind != state.first_board)
    tabs = [BoardTab(state.board_title(kind), kind, False) for kind in kinds]
    if late or takes_late(state, now):
        tabs.append(BoardTab("After the deadline", "public", True))
    return tabs if len(tabs) > 1 else []


def board_page_of(board: Board, *, after: int = 0, size: int = PAGE_SIZE) -> BoardPage:
    """The page of ``size`` places that begins after rank ``after``.

    ``board`` holds one place more than ``size``, if there is one: from it follows whether there is a next page, and
    which benchmarks belong there. Copies and disqualified teams are on the first page.
    """
    places, beyond = board.places[:size], board.places[size : size + 1]
    benchmarks = [each for each in board.benchmarks if _is_on_page(each, places, beyond, after)]
    rows = [*(_row_of(place, board) for place in places), *(TableRow(each, None) for each in benchmarks)]
    copies, out = (board.copies, board.disqualified) if after == 0 else ([], [])
    own = board.own
    return BoardPage(
        # The sort is stable and lower is better: teams keep their order, a benchmark stands after its equals.
        rows=sorted(rows, key=lambda row: (row.entry.score, row.place is None)),
        own=None if own is None or any(place.rank == own.rank for place in places) else _row_of(own, board),
        copies=copies[:MAX_SHOWN_APART],
        more_copies=max(0, len(copies) - MAX_SHOWN_APART),
        disqualified=out[:MAX_SHOWN_APART],
        more_disqualified=max(0, len(out) - MAX_SHOWN_APART),
        first=places[0].rank if places else None,
        last=places[-1].rank if places else None,
        previous=max(0, after - size) if after else None,
        next=places[-1].rank if beyond else None,
    )


def _row_of(place: Place, board: Board) -> TableRow:
    own = board.own is not None and board.own.rank == place.rank
    return TableRow(place, place, own)


def _is_on_page(benchmark: Benchmark, places: Sequence[Place], beyond: Sequence[Place], after: int) -> bool:
    earlier = after > 0 and (not places or benchmark.score < places[0].score)
    later = bool(beyond) and benchmark.score >= beyond[0].score
    return not earlier and not later
