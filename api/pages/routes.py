"""The pages everyone may see: the competitions, and a competition's leaderboard."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import Response

from api.deps import DbSession, Now, Visitor
from api.etags import etag_of, is_known
from api.pages import rendering, submit, words
from api.pages.board import MEDALS, PAGE, leaf_of, searched
from scorer import competitions, leaderboard
from scorer.competitions import State, TrackKind, may_see_private
from scorer.db.tables import Account

router = APIRouter(include_in_schema=False)


def mount(app: FastAPI) -> None:
    """Add the pages and their static files to ``app``."""
    app.include_router(router)
    app.include_router(submit.router)
    app.include_router(rendering.router)


@router.api_route("/", methods=["GET", "HEAD"])
def home(session: DbSession, account: Visitor, now: Now) -> Response:
    """The competitions, newest first."""
    shown = competitions.shown_states(session, account, now)
    teams = {state.competition.slug: leaderboard.count_teams(session, state) for state in shown}
    return rendering.page("home.html", states=shown, teams=teams, now=now)


@router.api_route("/competitions/{slug}", methods=["GET", "HEAD"])
def show(
    slug: str,
    request: Request,
    session: DbSession,
    account: Visitor,
    now: Now,
    track: TrackKind = "public",
    after: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    search: Annotated[str, Query(max_length=100)] = "",
) -> Response:
    """A competition's board from rank ``after + 1`` on, or of the teams whose name contains ``search``."""
    state = competitions.shown_state(session, slug, account, now)
    search = search.strip()
    etag = etag_of(*_depends_on(session, state, track, account, now), after, search)
    if is_known(request, etag):
        return rendering.not_modified(etag)
    if search:
        # The whole board is read: a search is rare, and must find rank 90,000 as well as rank 9.
        board = searched(leaderboard.standings(session, state, track, account, after=after), search)
    else:
        board = leaderboard.standings(session, state, track, account, after=after, limit=PAGE + 1)
    return rendering.page(
        "competition.html",
        headers={"ETag": etag},
        state=state,
        board=board,
        leaf=leaf_of(board, after=after),
        deadline=words.deadline(state, now),
        tabs=["public", "private"] if may_see_private(state, account) else [],
        medals=[(medal, state.competition.medals.get(medal, 0)) for medal in MEDALS],
        page_size=PAGE,
        search=search,
        after=after,
        now=now,
    )


def _depends_on(
    session: DbSession, state: State, track: TrackKind, account: Account | None, now: datetime
) -> tuple[object, ...]:
    """All that a page is made of: the pages themselves, the board, the competition's own words and dates,
    and the minute, since it says how long ago things were."""
    columns = [getattr(state.competition, column.key) for column in type(state.competition).__table__.columns]
    version = leaderboard.version(session, state, track, account)
    return rendering.BUILD, version, track, columns, now.replace(second=0, microsecond=0)
