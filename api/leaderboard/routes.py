"""The leaderboard as JSON and CSV."""

from typing import Annotated, Literal

from fastapi import Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import AwareDatetime, BaseModel, Field

from api.http.dependencies import ActingVisitor, AppResponseCache, Transactions
from api.http.etags import compute_etag, is_known
from api.http.request_charges import charge_past_board, charge_rows
from api.http.routing import ApiRouter
from api.http.views import shown_track_view
from api.leaderboard.uncertainty import uncertainty_json
from api.leaderboard.views import (
    BenchmarkView,
    BoardVersionsView,
    BoardVersionView,
    BoardView,
    CopyView,
    DisqualifiedView,
    PlaceView,
    stream_board_csv,
)
from api.openapi.files import UNCHANGED, also_as
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account
from scorer.leaderboard import board_access, board_versions, standings
from scorer.leaderboard.board import Board
from scorer.leaderboard.board_reader import BoardReader
from scorer.leaderboard.uncertainty import BoardUncertainty
from scorer.lifecycle import TrackKind

router = ApiRouter(tags=["leaderboard"])
BOARD_HEADERS = {"Cache-Control": "private, no-cache", "Vary": "Accept, Authorization, Cookie"}
MEDIA_TYPES = {True: "text/csv; charset=utf-8", False: "application/json"}


class BoardQuery(BaseModel):
    """The requested part of a board and its format."""

    track: TrackKind = "public"
    after: Annotated[int, Field(ge=0, le=10**9, description="Skip the ranks up to this one.")] = 0
    limit: Annotated[int, Field(ge=1, le=1000)] = 100
    format: Literal["json", "csv"] | None = None
    late: Annotated[bool, Field(description="Get the board of submissions after the deadline.")] = False
    search: Annotated[str, Field(max_length=100, description="Only list teams with this text in their names.")] = ""
    as_of: Annotated[
        AwareDatetime | None,
        Field(
            description="Get the board as it was at this time, with the measurements, thresholds, rulings, picks, team"
            " merges and names of that time. The private board must have been published then."
        ),
    ] = None

    def wants_csv(self, accept: str) -> bool:
        """``format`` takes precedence over the header ``Accept``."""
        return self.format == "csv" or (self.format is None and "text/csv" in accept)

    def inputs(self, *, as_csv: bool) -> dict[str, object]:
        """The parameters that a response depends on; CSV always has all ranks."""
        return self.model_dump(exclude={"format", "after", "limit"} if as_csv else {"format"})


@router.get(
    "/competitions/{slug}/leaderboard",
    response_model=BoardView,
    responses=also_as("text/csv") | UNCHANGED,
)
def show(
    slug: str,
    request: Request,
    acting: ActingVisitor,
    cache: AppResponseCache,
    begin: Transactions,
    query: Annotated[BoardQuery, Query()],
    accept: Annotated[str, Header()] = "",
) -> Response:
    """Get a board, ranked with the current threshold. CSV contains all ranks. The private board ranks teams by their
    final picks; until it is published, only organizers can see it."""
    if query.as_of is not None:
        charge_past_board(request, acting.actor)
    board_access.require_past(query.as_of, acting.now)
    as_csv = query.wants_csv(accept)
    for state in standings.states_to_show(acting, slug):
        version = standings.board_version(acting.session, state, query.track, account=acting.actor, now=acting.now)
        etag = compute_etag(version, as_csv, query.inputs(as_csv=as_csv))
        headers = _headers(slug, query, etag, as_csv=as_csv)
        if is_known(request, etag):
            return Response(status_code=304, headers=headers)
        if (body := cache.find(etag)) is not None:
            return Response(body, headers=headers)
    if not as_csv:
        charge_rows(request, acting.actor, query.limit)
        body = cache.answer(acting.session, etag, lambda: _body(acting, state, query))
        return Response(body, headers=headers)
    board = _standings(acting, state, query)
    charge_rows(request, acting.actor, len(board.ranks))
    return StreamingResponse(cache.stream(etag, lambda: stream_board_csv(board, begin)), headers=headers)


def _headers(slug: str, query: BoardQuery, etag: str, *, as_csv: bool) -> dict[str, str]:
    headers = {**BOARD_HEADERS, "ETag": etag, "Content-Type": MEDIA_TYPES[as_csv]}
    if as_csv:
        name = f"{slug}-{'late' if query.late else query.track}.csv"
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return headers


def _body(acting: Acting[Account | None], state: CompetitionState, query: BoardQuery) -> bytes:
    board = _standings(acting, state, query).board(acting.session, query.after, query.limit)
    return _view(board, acting.actor).model_dump_json(by_alias=True).encode()


def _standings(acting: Acting[Account | None], state: CompetitionState, query: BoardQuery) -> BoardReader:
    options = query.model_dump(include={"late", "as_of", "search"})
    return standings.standings(acting.session, state, query.track, account=acting.actor, **options, now=acting.now)


def _view(board: Board, account: Account | None) -> BoardView:
    organizer = is_organizer(account, board.state.competition.id)
    hidden = {} if organizer else {"submission_id": None, "label": None}
    last = board.places[-1].rank if board.places else None
    return BoardView(
        competition=board.state.competition.slug,
        track=board.track.kind,
        late=board.late,
        as_of=board.as_of,
        tau=board.tau,
        teams=board.teams,
        entries=[PlaceView.of(place, **hidden) for place in board.places],
        own=PlaceView.of(board.own, **hidden) if board.own else None,
        benchmarks=[BenchmarkView.model_validate(benchmark) for benchmark in board.benchmarks],
        copies=[CopyView.of(copy, **hidden) for copy in board.copies],
        disqualified=[DisqualifiedView.of(team, **hidden) for team in board.disqualified],
        measured_by=list(board.measured_by),
        shown_tracks=[shown_track_view(shown) for shown in board.shown_tracks],
        next_after=last if last is not None and last < board.teams else None,
    )


@router.get("/competitions/{slug}/leaderboard/versions")
def list_versions(
    slug: str,
    request: Request,
    acting: ActingVisitor,
    after: Annotated[int, Query(ge=0, le=10**9, description="Skip this many rank changes.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> BoardVersionsView:
    """List all publications and withdrawals of the private board, and the rank changes since the previous version."""
    charge_past_board(request, acting.actor)
    state = standings.visible_state(acting, slug)
    page = board_versions.changes_page(acting.session, state, acting.actor, after=after, limit=limit)
    return BoardVersionsView(
        versions=[BoardVersionView.model_validate(act) for act in state.publications],
        changes=page.total,
        moves=page.rows,
        next_after=page.next_after,
    )


@router.get("/competitions/{slug}/leaderboard/uncertainty", response_model=BoardUncertainty)
def show_uncertainty(
    slug: str, request: Request, acting: ActingVisitor, cache: AppResponseCache, track: TrackKind = "public"
) -> Response:
    """Get the uncertainty of the first 500 ranks: 95 % intervals, probabilities of medals, and the score differences
    that decide medals and prizes. Until the private board is published, only organizers can see its uncertainty."""
    state = standings.visible_state(acting, slug)
    etag, body = uncertainty_json(acting.session, state, track, account=acting.actor, cache=cache)
    headers = {**BOARD_HEADERS, "ETag": etag, "Content-Type": MEDIA_TYPES[False]}
    return Response(status_code=304, headers=headers) if is_known(request, etag) else Response(body, headers=headers)
