"""Schemas of boards, and a board as CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import Page, RecordView, ShownTrackView, ShownValueView
from kennel_client.cli.formatting import escape_formula
from scorer.leaderboard.board import Place
from scorer.leaderboard.board_reader import BoardReader
from scorer.leaderboard.board_versions import RankChange
from scorer.lifecycle import TrackKind


class PlaceView(RecordView):
    rank: int
    team: str
    score: float
    fid: float
    fid_spread: float | None = Field(
        description="The standard deviation of `fid` over draws; null for a single draw, and for zips."
    )
    memorization_distance: float
    penalised: bool
    entries: int
    last_entry_at: datetime
    medal: Literal["gold", "silver", "bronze"] | None = None
    prize: str | None = Field(None, description="The prize for this rank. Only on the private board.")
    moved: int | None = Field(
        None,
        description="Ranks gained since the start of the UTC day; null if the team had no rank then."
        " Only on the public board.",
    )
    public_rank: int | None = Field(None, description="The rank on the public board. Only on the private board.")
    shake_up: int | None = Field(
        None, description="Ranks gained compared with the public board. Only on the private board."
    )
    measured_by: str | None = Field(
        None,
        description="The scorer version or references of this measurement, if they differ from those of most entries.",
    )
    submission_id: str | None = Field(None, description="Shown to organizers only.")
    label: str | None = Field(None, description="Shown to organizers only.")
    shown: dict[str, ShownValueView] = Field(description="The submission's measured values on `shown_tracks`, by name.")


class BenchmarkView(RecordView):
    team: str
    score: float
    fid: float
    fid_spread: float | None = Field(description="The same as in `entries`.")
    memorization_distance: float
    measured_by: str | None = Field(None, description="The same as in `entries`.")
    shown: dict[str, ShownValueView] = Field(description="The same as in `entries`.")


class CopyView(RecordView):
    team: str
    mifid: None = None
    copy_: Literal[True] = Field(True, serialization_alias="copy")
    reason: str
    memorization_distance: float
    submission_id: str | None = Field(None, description="Shown to organizers only.")
    label: str | None = Field(None, description="Shown to organizers only.")


class DisqualifiedView(RecordView):
    team: str
    reason: str = Field(description="The reason for the ruling, shortened.")
    submission_id: str | None = Field(None, description="Shown to organizers only.")
    label: str | None = Field(None, description="Shown to organizers only.")


class BoardView(Page):
    competition: str
    track: TrackKind
    late: bool = Field(description="Whether this is the board of submissions after the deadline.")
    as_of: datetime | None = Field(description="The requested past time; null for the current board.")
    tau: float | None
    teams: int
    entries: list[PlaceView]
    own: PlaceView | None = Field(description="Your team's row, even if it is on another page.")
    benchmarks: list[BenchmarkView]
    copies: list[CopyView] = Field(description="Teams that submitted only copies of training images.")
    disqualified: list[DisqualifiedView] = Field(
        description="Teams without a rank because of a disqualified submission."
    )
    measured_by: list[str] = Field(
        description="The scorer versions and references, most common first; empty if all submissions share them."
    )
    shown_tracks: list[ShownTrackView] = Field(description="The shown tracks, which do not affect the ranking.")


class BoardVersionView(RecordView):
    """A publication of the private board, or its withdrawal."""

    published: bool
    final: bool = Field(description="Whether it is the final board; false for the provisional board.")
    reason: str
    created_at: datetime
    as_of: datetime = Field(description="Pass it as `as_of` to get this version of the board.")


class BoardVersionsView(BaseModel):
    versions: list[BoardVersionView] = Field(description="Newest first.")
    changes: int = Field(description="The number of teams whose rank differs from the previous version.")
    moves: list[RankChange] = Field(description="These teams, in the order of their current ranks.")
    next_after: int | None = Field(description="Pass it as `after` to get the next page; null at the end.")


COLUMNS = (
    "rank", "team", "score", "fid", "fid_spread", "memorization_distance", "penalised", "entries", "last_entry_at",
    "measured_by",
)  # fmt: skip
FINAL_COLUMNS = (*COLUMNS, "public_rank", "shake_up", "medal", "prize")
"""The columns of the private board."""
ORGANIZER_COLUMNS = ("submission_id", "label")


def stream_board_csv(board: BoardReader, begin: Callable[[], AbstractContextManager[Session]]) -> Iterator[bytes]:
    """A board as CSV in chunks: a header, then one line per place, with the entry for organizers. A shown track
    ``name`` has the columns ``shown_name`` and ``shown_name_se`` (its standard error)."""
    columns: Sequence[str] = FINAL_COLUMNS if board.track.kind == "private" else COLUMNS
    if board.organizer:
        columns = (*columns, *ORGANIZER_COLUMNS)
    shown = [shown.name for shown in board.shown]
    yield _to_csv([[*columns, *(f"shown_{name}{suffix}" for name in shown for suffix in ("", "_se"))]])
    for places in board.places(begin):
        yield _to_csv([*_cells(place, columns), *_shown_cells(place, shown)] for place in places)


def _cells(place: Place, columns: Iterable[str]) -> list[object]:
    texts = {"last_entry_at": place.last_entry_at.isoformat(), "team": escape_formula(place.team)}
    return [texts.get(column) or getattr(place, column) for column in columns]


def _shown_cells(place: Place, names: Iterable[str]) -> Iterator[float | None]:
    for name in names:
        yield from place.shown.get(name, (None, None))


def _to_csv(lines: Iterable[Sequence[object]]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(lines)
    return file.getvalue().encode()
