"""The leaderboard as JSON and CSV."""

from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import AwareDatetime

from api.http.dependencies import AppResponseCache, DbSession, Now, Visitor
from api.http.etags import etag_of, is_known
from api.schemas.leaderboard import BenchmarkView, BoardView, CopyView, DisqualifiedView, PlaceView, board_csv_of
from scorer.accounts.roles import is_organizer
from scorer.db.tables import Account
from scorer.leaderboard import standings
from scorer.leaderboard.board import Board, Place
from scorer.lifecycle import TrackKind

router = APIRouter(tags=["leaderboard"])


@router.get("/competitions/{slug}/leaderboard", response_model=BoardView)
def show(
    slug: str,
    request: Request,
    session: DbSession,
    account: Visitor,
    cache: AppResponseCache,
    now: Now,
    track: TrackKind = "public",
    after: Annotated[int, Query(ge=0, le=10**9, description="Show places after this rank.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    format: Annotated[Literal["json", "csv"] | None, Query()] = None,  # noqa: A002
    late: Annotated[bool, Query(description="The board of the entries after the close.")] = False,
    search: Annotated[str, Query(max_length=100, description="Only teams whose name contains this.")] = "",
    as_of: Annotated[
        AwareDatetime | None,
        Query(
            description="The board as it was at this moment: measurements, thresholds, rulings, picks, merges and names"
            " of then. The private board can be seen as it was since it was published."
        ),
    ] = None,
    accept: Annotated[str, Header()] = "",
) -> Response:
    """The board, ranked when it is read, with the newest threshold. CSV has every place. The private board ranks teams
    by their final picks; until it is published it is for organizers only."""
    state = standings.visible_state(session, slug, account, now)
    standings.require_past(as_of, now)
    as_csv = format == "csv" or (format is None and "text/csv" in accept)
    version = standings.board_version(session, state, track, account, now)
    headers = {
        "ETag": etag_of(version, as_csv, after, limit, late, search, as_of),
        "Cache-Control": "private, no-cache",
        "Vary": "Accept, Authorization, Cookie",
        "Content-Type": "text/csv; charset=utf-8" if as_csv else "application/json",
    }
    if is_known(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    if as_csv:
        headers["Content-Disposition"] = f'attachment; filename="{slug}-{"late" if late else track}.csv"'

    def render() -> bytes:
        page = {"after": 0, "limit": None} if as_csv else {"after": after, "limit": limit}
        board = standings.standings(
            session, state, track, account, **page, late=late, as_of=as_of, search=search, now=now
        )
        return (board_csv_of(board) if as_csv else _view(board, account).model_dump_json(by_alias=True)).encode()

    return Response(cache.answer(headers["ETag"], render), headers=headers)


def _view(board: Board, account: Account | None) -> BoardView:
    hidden = set() if is_organizer(account) else {"submission_id", "label"}

    def fields(row: object) -> dict[str, object]:
        return {name: value for name, value in vars(row).items() if name not in hidden}

    def place(row: Place) -> PlaceView:
        return PlaceView.model_validate(fields(row) | {"shake_up": row.shake_up})

    last = board.places[-1].rank if board.places else None
    return BoardView(
        competition=board.state.competition.slug,
        track=board.track.kind,
        late=board.late,
        as_of=board.as_of,
        tau=board.threshold.tau if board.threshold else None,
        teams=board.teams,
        entries=[place(each) for each in board.places],
        own=place(board.own) if board.own else None,
        benchmarks=[BenchmarkView.model_validate(vars(each)) for each in board.benchmarks],
        copies=[CopyView.model_validate(fields(copy)) for copy in board.copies],
        disqualified=[DisqualifiedView.model_validate(fields(each)) for each in board.disqualified],
        next_after=last if last is not None and last < board.teams else None,
    )
