"""The leaderboard of a competition's page, and the pages of its versions and of the uncertainty of ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from api.http.dependencies import ActingVisitor, AppResponseCache, CurrentViewer, DbSession, Viewer
from api.http.etags import compute_etag, is_known
from api.http.request_charges import charge_past_board
from api.http.routing import Router
from api.leaderboard.uncertainty import BOARD_UNCERTAINTY, uncertainty_json
from api.rendering import formatting, templates
from api.rendering.timeline import build_timeline
from scorer.accounts import roles
from scorer.acting import Acting
from scorer.competitions import appeal_windows
from scorer.competitions.competition_state import CompetitionState, may_see_private, takes_late
from scorer.competitions.shown_tracks import MAX_SHOWN_TRACKS
from scorer.db.tables import Account
from scorer.leaderboard import board_versions, standings
from scorer.leaderboard.board import Board, Place, UnrankedTeam
from scorer.lifecycle import TrackKind
from scorer.metrics.metric_catalogue import find_metric
from scorer.ranking.awards import MEDALS
from scorer.teams import storage

router = Router(include_in_schema=False)
PAGE_SIZE = 100
PODIUM = 3
"""The number of winners above a final board. Winners of prizes are added."""
MAX_SHOWN_APART = 100
"""The maximum number of rows in the lists of copies and of disqualified teams."""


def _in_utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


AsOfTime = Annotated[
    datetime | None, BeforeValidator(lambda value: None if value == "" else value), AfterValidator(_in_utc)
]
"""A time from a form field in a query string: UTC without a zone, None if it is empty."""


class BoardQuery(BaseModel):
    """A requested page of a board.

    It starts at rank ``after + 1``, or lists the teams with ``search`` in their names. ``late``: the board of entries
    after the deadline. ``as_of``: the board at that time. ``columns``: the shown tracks to include. ``track`` defaults
    to the private board once it is published, and to the public board before.
    """

    track: TrackKind | None = None
    after: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    search: Annotated[str, Field(max_length=100)] = ""
    late: bool = False
    as_of: AsOfTime = None
    columns: Annotated[list[str], Field(max_length=MAX_SHOWN_TRACKS)] = []

    def choose_track(self, state: CompetitionState) -> TrackKind:
        return self.track or ("public" if self.late else state.first_board)


@dataclass(frozen=True)
class BoardPage:
    """``previous`` and ``next`` are the ``after`` of the neighbouring pages."""

    rows: Sequence[Place]
    own: Place | None
    """The row of the viewer's team if ``rows`` does not include it."""
    copies: Sequence[UnrankedTeam]
    more_copies: int
    disqualified: Sequence[UnrankedTeam]
    more_disqualified: int
    first: int | None
    last: int | None
    previous: int | None
    next: int | None


@dataclass(frozen=True)
class BoardTab:
    text: str
    track: TrackKind
    late: bool

    @property
    def query(self) -> str:
        return f"track={self.track}" + ("&late=true" if self.late else "")


def build_board_tabs(state: CompetitionState, account: Account | None, now: datetime, *, late: bool) -> list[BoardTab]:
    """The tabs of the boards that this person may see; empty if only the public one. ``late``: the page shows the late
    board, so it always gets a tab."""
    kinds: list[TrackKind] = ["public", "private"] if may_see_private(state, account) else ["public"]
    kinds.sort(key=lambda kind: kind != state.first_board)
    tabs = [BoardTab(state.board_title(kind), kind, False) for kind in kinds]
    if late or takes_late(state, now):
        tabs.append(BoardTab("After the deadline", "public", True))
    return tabs if len(tabs) > 1 else []


def build_board_page(board: Board, *, after: int = 0, size: int = PAGE_SIZE) -> BoardPage:
    """The page of ``size`` places after rank ``after``.

    ``board`` has up to ``size + 1`` places. The last one shows whether there is a next page, and which benchmarks
    belong to it. Copies and disqualified teams are on the first page.
    """
    places, beyond = board.places[:size], board.places[size : size + 1]
    benchmarks = [benchmark for benchmark in board.benchmarks if _is_on_page(benchmark, places, beyond, after=after)]
    copies, out = (board.copies, board.disqualified) if after == 0 else ([], [])
    own = board.own
    return BoardPage(
        # The sort is stable: teams keep their order, and a benchmark comes after teams with the same score.
        rows=sorted([*places, *benchmarks], key=lambda place: (place.score, place.rank == 0)),
        own=None if own is None or any(place.rank == own.rank for place in places) else own,
        copies=copies[:MAX_SHOWN_APART],
        more_copies=max(0, len(copies) - MAX_SHOWN_APART),
        disqualified=out[:MAX_SHOWN_APART],
        more_disqualified=max(0, len(out) - MAX_SHOWN_APART),
        first=places[0].rank if places else None,
        last=places[-1].rank if places else None,
        previous=max(0, after - size) if after else None,
        next=places[-1].rank if beyond else None,
    )


def _is_on_page(benchmark: Place, places: Sequence[Place], beyond: Sequence[Place], *, after: int) -> bool:
    earlier = after > 0 and (not places or benchmark.score < places[0].score)
    later = bool(beyond) and benchmark.score >= beyond[0].score
    return not earlier and not later


def board_values(acting: Acting[Account | None], state: CompetitionState, query: BoardQuery) -> dict[str, Any]:
    """The template values for the page of a board and everything around it."""
    after = query.after
    search = query.search.strip()
    organizes = roles.is_organizer(acting.actor, state.competition.id)
    board = standings.standings(
        acting.session,
        state,
        query.choose_track(state),
        account=acting.actor,
        late=query.late,
        as_of=query.as_of,
        search=search,
        now=acting.now,
    ).board(acting.session, after, PAGE_SIZE + 1)
    return {
        "state": state,
        "storage": storage.load_competition_usage(acting.session, state.competition, acting.now) if organizes else None,
        "board": board,
        "page": build_board_page(board, after=after),
        "shown_tracks": [(shown, find_metric(shown.metric)) for shown in board.shown_tracks],
        "columns": [shown.name for shown in board.shown_tracks if shown.name in query.columns],
        "deadline": formatting.deadline(state, acting.now),
        "timeline": build_timeline(state),
        "window": appeal_windows.compute_window(state),
        "appeals_end": appeal_windows.appeals_end(acting.session, state),
        "winners": [place for place in board.places if place.rank <= PODIUM or place.prize],
        "former": board_versions.former_version(state),
        "tabs": build_board_tabs(state, acting.actor, acting.now, late=query.late),
        "medals": [(medal, state.competition.medals.get(medal, 0)) for medal in MEDALS],
        "page_size": PAGE_SIZE,
        "search": search,
        "after": after,
    }


@router.api_route("/competitions/{slug}/versions", methods=["GET", "HEAD"])
def show_versions(
    slug: str,
    request: Request,
    acting: ActingVisitor,
    viewer: CurrentViewer,
    after: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
) -> Response:
    charge_past_board(request, acting.actor)
    state = standings.visible_state(acting, slug)
    page = board_versions.changes_page(acting.session, state, acting.actor, after=after, limit=PAGE_SIZE)
    former = board_versions.former_version(state)
    return templates.render_page(
        "leaderboard/versions.html", viewer=viewer, state=state, page=page, former=former, now=acting.now
    )


@router.api_route("/competitions/{slug}/uncertainty", methods=["GET", "HEAD"])
def show_uncertainty(
    slug: str,
    request: Request,
    acting: ActingVisitor,
    viewer: CurrentViewer,
    cache: AppResponseCache,
    track: TrackKind | None = None,
) -> Response:
    state = standings.visible_state(acting, slug)
    track = track or state.first_board
    version, body = uncertainty_json(acting.session, state, track, account=acting.actor, cache=cache)
    etag = compute_etag(*etag_parts(acting.session, state, track, viewer=viewer, now=acting.now), version)
    if is_known(request, etag):
        return templates.not_modified(etag)

    def render() -> bytes:
        shown = BOARD_UNCERTAINTY.validate_json(body)
        return bytes(
            templates.render_page("leaderboard/uncertainty.html", viewer=viewer, state=state, shown=shown).body
        )

    return templates.page_from_cache(acting.session, cache, etag, viewer=viewer, make=render)


def etag_parts(
    session: DbSession, state: CompetitionState, track: TrackKind, *, viewer: Viewer | None, now: datetime
) -> tuple[object, ...]:
    """Everything that the page depends on: templates, board, competition, viewer, and the current minute because of
    relative times. The minute also limits the age of cached pages."""
    account = viewer.account if viewer else None
    columns = [getattr(state.competition, column.key) for column in type(state.competition).__table__.columns]
    version = standings.board_version(session, state, track, account=account, now=now)
    viewer_parts = (viewer.account.handle, viewer.csrf, viewer.unread) if viewer else None
    return templates.BUILD_DIGEST, version, track, columns, viewer_parts, now.replace(second=0, microsecond=0)
