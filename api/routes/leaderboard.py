"""The leaderboard as JSON and CSV."""

import csv
import io
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response

from api.deps import DbSession, Now, Visitor
from api.etags import etag_of, is_known
from api.schemas import BenchmarkView, BoardView, CopyView, PlaceView
from scorer import leaderboard
from scorer.competitions import TrackKind, is_organizer, shown_state
from scorer.db.tables import Account

router = APIRouter(tags=["leaderboard"])
COLUMNS = ("rank", "team", "score", "fid", "memorization_distance", "penalised", "entries", "last_entry_at")


@router.get("/competitions/{slug}/leaderboard", response_model=BoardView)
def show(
    slug: str,
    request: Request,
    session: DbSession,
    account: Visitor,
    now: Now,
    track: TrackKind = "public",
    after: Annotated[int, Query(ge=0, le=10**9, description="Show places after this rank.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    format: Annotated[Literal["json", "csv"] | None, Query()] = None,  # noqa: A002
    late: Annotated[bool, Query(description="The board of the entries after the close.")] = False,
    accept: Annotated[str, Header()] = "",
) -> Response:
    """The board, ranked now with the newest threshold. CSV holds every place. The private board is for organizers
    until it is published."""
    state = shown_state(session, slug, account, now)
    as_csv = format == "csv" or (format is None and "text/csv" in accept)
    version = leaderboard.version(session, state, track, account)
    headers = {
        "ETag": etag_of(version, as_csv, after, limit, late),
        "Cache-Control": "private, no-cache",
        "Vary": "Accept, Authorization, Cookie",
    }
    if is_known(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if as_csv:
        board = leaderboard.standings(session, state, track, account, late=late)
        headers["Content-Disposition"] = f'attachment; filename="{slug}-{"late" if late else track}.csv"'
        return Response(csv_of(board), media_type="text/csv; charset=utf-8", headers=headers)
    board = leaderboard.standings(session, state, track, account, after=after, limit=limit, late=late)
    return Response(
        _view(board, account).model_dump_json(by_alias=True), media_type="application/json", headers=headers
    )


def _view(board: leaderboard.Board, account: Account | None) -> BoardView:
    hidden = set() if is_organizer(account) else {"submission_id", "label"}

    def fields(row: object) -> dict[str, object]:
        return {name: value for name, value in vars(row).items() if name not in hidden}

    last = board.places[-1].rank if board.places else None
    return BoardView(
        competition=board.state.competition.slug,
        track=board.track.kind,
        late=board.late,
        tau=board.threshold.tau if board.threshold else None,
        teams=board.teams,
        entries=[PlaceView.model_validate(fields(place)) for place in board.places],
        benchmarks=[BenchmarkView.model_validate(vars(each)) for each in board.benchmarks],
        copies=[CopyView.model_validate(fields(copy)) for copy in board.copies],
        next_after=last if last is not None and last < board.teams else None,
    )


def csv_of(board: leaderboard.Board) -> str:
    """The places of a board, one a line."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for place in board.places:
        values = vars(place) | {"last_entry_at": place.last_entry_at.isoformat(), "team": _inert(place.team)}
        writer.writerow([values[column] for column in COLUMNS])
    return file.getvalue()


def _inert(cell: str) -> str:
    """A team name that a spreadsheet will not run as a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell
