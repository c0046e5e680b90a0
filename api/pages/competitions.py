"""The list of competitions, and a competition's page with its board."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from api.http.dependencies import AppResponseCache, Caller, CurrentCaller, DbSession, Now, SignedIn, Visitor
from api.http.etags import etag_of, is_known
from api.http.forms import FormFields, text
from api.pages.leaderboard import MEDALS, PAGE_SIZE, AsOfTime, board_page_of, board_tabs_of
from api.rendering import formatting, templates
from api.rendering.quota import quota_message_of
from scorer.accounts import roles
from scorer.competitions import allowlist, competition_state, data_files, rules
from scorer.competitions.competition_state import CompetitionState, takes_late
from scorer.leaderboard import standings
from scorer.lifecycle import Phase, TrackKind
from scorer.teams import quotas

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=["GET", "HEAD"])
def list_competitions(session: DbSession, account: Visitor, viewer: CurrentCaller, now: Now) -> Response:
    """The competitions, newest first."""
    shown = competition_state.visible_states(session, account, now)
    teams = {state.competition.slug: standings.count_teams(session, state) for state in shown}
    return templates.render_page("competitions/list.html", viewer=viewer, states=shown, teams=teams, now=now)


@router.api_route("/competitions/{slug}", methods=["GET", "HEAD"])
def show_leaderboard(
    slug: str,
    request: Request,
    session: DbSession,
    account: Visitor,
    viewer: CurrentCaller,
    cache: AppResponseCache,
    now: Now,
    track: TrackKind = "public",
    after: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    search: Annotated[str, Query(max_length=100)] = "",
    late: bool = False,
    as_of: AsOfTime = None,
) -> Response:
    """A competition's board from rank ``after + 1`` on, or of the teams whose name contains ``search``; ``late``: the
    board of entries after the deadline; ``as_of``: the board as it was then."""
    state = standings.visible_state(session, slug, account, now)
    standings.require_past(as_of, now)
    search = search.strip()
    accepted = account is not None and rules.has_accepted(session, state.competition, account)
    invited = account is not None and allowlist.is_invited(session, state.competition, account)
    may_enter = state.phase is Phase.OPEN or takes_late(state, now)
    quota = quota_message_of(quotas.quota_of(session, state, account, now=now)) if account and may_enter else None
    files = data_files.list_files(session, state)
    file_ids = [file.id for file in files]
    parts = _etag_parts(session, state, track, viewer, now)
    etag = etag_of(*parts, accepted, invited, quota, after, search, late, as_of, file_ids)
    if is_known(request, etag):
        return templates.not_modified(etag)

    def render() -> bytes:
        board = standings.standings(
            session,
            state,
            track,
            account,
            after=after,
            limit=PAGE_SIZE + 1,
            late=late,
            as_of=as_of,
            search=search,
            now=now,
        )
        return bytes(
            templates.render_page(
                "competitions/show.html",
                viewer=viewer,
                rules_sha256=rules.rules_version_of(state.competition),
                rules_accepted=accepted,
                may_enter=may_enter,
                invited=invited,
                quota=quota,
                files=files,
                may_download=(accepted and invited) or roles.is_organizer(account),
                state=state,
                board=board,
                page=board_page_of(board, after=after),
                deadline=formatting.deadline(state, now),
                tabs=board_tabs_of(state, account, now, late=late),
                medals=[(medal, state.competition.medals.get(medal, 0)) for medal in MEDALS],
                page_size=PAGE_SIZE,
                search=search,
                after=after,
                now=now,
            ).body
        )

    return templates.cached_page(render() if viewer else cache.answer(etag, render), etag)


@router.post("/competitions/{slug}/rules-acceptance")
def accept_rules(slug: str, fields: FormFields, session: DbSession, viewer: SignedIn, now: Now) -> Response:
    """Accept the rules as the page showed them."""
    state = competition_state.visible_state(session, slug, viewer.account, now)
    rules.accept_rules(session, state, text(fields, "rules_sha256"), account=viewer.account, now=now)
    return templates.see_other(f"/competitions/{slug}{'/submit' if text(fields, 'then') == 'submit' else '#rules'}")


def _etag_parts(
    session: DbSession, state: CompetitionState, track: TrackKind, viewer: Caller | None, now: datetime
) -> tuple[object, ...]:
    """All that the page depends on: the templates, the board, the competition's texts and dates, the viewer, and the
    minute, because the page shows relative times."""
    account = viewer.account if viewer else None
    columns = [getattr(state.competition, column.key) for column in type(state.competition).__table__.columns]
    version = standings.board_version(session, state, track, account, now)
    viewer_parts = (viewer.account.handle, viewer.csrf, viewer.unread) if viewer else None
    return templates.BUILD_DIGEST, version, track, columns, viewer_parts, now.replace(second=0, microsecond=0)
