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
    memorization_distance: float
    penalised: bool
    entries: int
    last_entry_at: datetime
    medal: Literal["gold", "silver", "bronze"] | None = None
    prize: str | None = Field(None, description="Private board only: what the place wins.")
    moved: int | None = Field(
        None, description="Public board only: ranks gained since the UTC day began; null for a team that had none then."
    )
    public_rank: int | None = Field(None, description="Private board only.")
    shake_up: int | None = Field(None, description="Private board only: ranks gained from the public board.")
    measured_by: str | None = Field(
        None, description="The scorer version or references it was measured by, where most of the board were by others."
    )
    submission_id: str | None = Field(None, description="Organizers only.")
    label: str | None = Field(None, description="Organizers only.")
    shown: dict[str, ShownValueView] = Field(
        description="By name: the numbers of `shown_tracks` of the entry, where they have been measured."
    )


class BenchmarkView(RecordView):
    team: str
    score: float
    fid: float
    memorization_distance: float
    measured_by: str | None = Field(None, description="As of a place.")
    shown: dict[str, ShownValueView] = Field(description="As of a place.")


class CopyView(RecordView):
    team: str
    mifid: None = None
    copy_: Literal[True] = Field(True, serialization_alias="copy")
    reason: str
    memorization_distance: float
    submission_id: str | None = Field(None, description="Organizers only.")
    label: str | None = Field(None, description="Organizers only.")


class DisqualifiedView(RecordView):
    team: str
    reason: str = Field(description="The ruling's reason, in short.")
    submission_id: str | None = Field(None, description="Organizers only.")
    label: str | None = Field(None, description="Organizers only.")


class BoardView(Page):
    competition: str
    track: TrackKind
    late: bool = Field(description="Whether this is the board of the entries after the close.")
    as_of: datetime | None = Field(description="The past moment that was asked for; null: the board as it is.")
    tau: float | None
    teams: int
    entries: list[PlaceView]
    own: PlaceView | None = Field(description="The place of your team, on whichever page it is.")
    benchmarks: list[BenchmarkView]
    copies: list[CopyView] = Field(description="Teams whose entries are all copies of training images.")
    disqualified: list[DisqualifiedView] = Field(description="Teams without a place that had an entry disqualified.")
    measured_by: list[str] = Field(
        description="Scorer versions and references, if not all were measured alike: that of most entries first."
    )
    shown_tracks: list[ShownTrackView] = Field(description="The numbers that stand beside the ranked ones.")


class BoardVersionView(RecordView):
    """A publication of the private board, or its withdrawal."""

    published: bool
    final: bool = Field(description="Whether it is the final board; false: the provisional one.")
    reason: str
    created_at: datetime
    as_of: datetime = Field(description="Pass as `as_of` for the board of this version.")


class BoardVersionsView(BaseModel):
    versions: list[BoardVersionView] = Field(description="Newest first.")
    changes: int = Field(description="Teams whose rank is another one than in the version before.")
    moves: list[RankChange] = Field(description="These teams, in the order of their ranks now.")
    next_after: int | None = Field(description="Pass as `after` for the next moves; null at the end.")


COLUMNS = (
    "rank", "team", "score", "fid", "memorization_distance", "penalised", "entries", "last_entry_at", "measured_by"
)  # fmt: skip
FINAL_COLUMNS = (*COLUMNS, "public_rank", "shake_up", "medal", "prize")
"""The columns of the private board."""
ORGANIZER_COLUMNS = ("submission_id", "label")


def board_csv_of(board: BoardReader, begin: Callable[[], AbstractContextManager[Session]]) -> Iterator[bytes]:
    """A board as CSV, piece by piece: a header, then one place a line; for organizers with the entry behind it. A shown
    track ``name`` has the columns ``shown_name`` and ``shown_name_se``, its standard error."""
    columns: Sequence[str] = FINAL_COLUMNS if board.track.kind == "private" else COLUMNS
    if board.organizer:
        columns = (*columns, *ORGANIZER_COLUMNS)
    shown = [each.name for each in board.shown]
    yield _csv_of([[*columns, *(f"shown_{name}{suffix}" for name in shown for suffix in ("", "_se"))]])
    for places in board.places(begin):
        yield _csv_of([*_cells(place, columns), *_shown_cells(place, shown)] for place in places)


def _cells(place: Place, columns: Iterable[str]) -> list[object]:
    texts = {"last_entry_at": place.last_entry_at.isoformat(), "team": escape_formula(place.team)}
    return [texts.get(column) or getattr(place, column) for column in columns]


def _shown_cells(place: Place, names: Iterable[str]) -> Iterator[float | None]:
    for name in names:
        yield from place.shown.get(name, (None, None))


def _csv_of(lines: Iterable[Sequence[object]]) -> bytes:
    file = io.StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(lines)
    return file.getvalue().encode()
