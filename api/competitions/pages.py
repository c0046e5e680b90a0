"""The list of competitions, and a competition's page with its board."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.dependencies import (
    AppResponseCache,
    Caller,
    CurrentCaller,
    DbSession,
    Now,
    SignedIn,
    Visitor,
)
from api.http.etags import etag_of, is_known
from api.http.forms import FormFields, text
from api.http.request_charges import charge_past_board
from api.http.routing import Router
from api.leaderboard.pages import PAGE_SIZE, AsOfTime, board_page_of, board_tabs_of
from api.leaderboard.uncertainty import uncertainty_json
from api.leaderboard.views import UncertaintyView
from api.rendering import formatting, templates
from api.rendering.quota import quota_message_of
from api.rendering.timeline import timeline_of
from scorer.accounts import roles
from scorer.competitions import allowlist, appeal_windows, competition_roles, competition_state, rules
from scorer.competitions.competition_state import CompetitionState, takes_late
from scorer.competitions.shown_tracks import MAX_SHOWN_TRACKS
from scorer.db.tables import Account
from scorer.leaderboard import board_access, board_versions, standings
from scorer.lifecycle import Phase, TrackKind
from scorer.metrics.metric_catalogue import find_metric
from scorer.ranking.awards import MEDALS
from scorer.teams import quotas, storage

router = Router(include_in_schema=False)
LISTED_COMPETITIONS = 20
"""On a page of the list."""
PODIUM = 3
"""The places that a final board begins with, in addition to those that win a prize."""


@router.api_route("/", methods=["GET", "HEAD"])
def list_competitions(
    session: DbSession,
    account: Visitor,
    viewer: CurrentCaller,
    now: Now,
    after: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
) -> Response:
    """A page of the competitions, newest first."""
    visible = competition_state.visible_competitions(session, account, now)
    page = [each.id for each in visible[after : after + LISTED_COMPETITIONS]]
    states = competition_state.states_of(session, page, now)
    return templates.render_page(
        "competitions/list.html",
        viewer=viewer,
        states=states,
        teams=standings.count_teams(session, states),
        previous=max(0, after - LISTED_COMPETITIONS) if after else None,
        following=after + LISTED_COMPETITIONS if after + LISTED_COMPETITIONS < len(visible) else None,
        now=now,
    )


class BoardQuery(BaseModel):
    """Which page of which board: from rank ``after + 1`` on, or of the teams whose name contains ``search``; ``late``:
    of the entries after the deadline; ``as_of``: as it was then; ``columns``: with these shown tracks. Without a
    ``track``: the board that decides, if it is published."""

    track: TrackKind | None = None
    after: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    search: Annotated[str, Field(max_length=100)] = ""
    late: bool = False
    as_of: AsOfTime = None
    columns: Annotated[list[str], Field(max_length=MAX_SHOWN_TRACKS)] = []


@router.api_route("/competitions/{slug}", methods=["GET", "HEAD"])
def show_leaderboard(
    slug: str,
    request: Request,
    session: DbSession,
    account: Visitor,
    viewer: CurrentCaller,
    cache: AppResponseCache,
    now: Now,
    query: Annotated[BoardQuery, Query()],
) -> Response:
    """A competition with one of its boards."""
    if query.as_of is not None:
        charge_past_board(request, account)
    board_access.require_past(query.as_of, now)
    for state in standings.states_to_show(session, slug, account, now):
        values = _entry_values(session, state, account, now)
        track = _track_of(state, query)
        parts = _etag_parts(session, state, track, viewer, now)
        listed = [file.id for file in state.files], [each.id for each in state.announcements]
        etag = etag_of(*parts, query, values, listed)
        if is_known(request, etag):
            return templates.not_modified(etag)
        if viewer is None and (body := cache.find(etag)) is not None:
            return templates.cached_page(body, etag)

    def render() -> bytes:
        shown = {**values, **_board_values(session, state, query, account, now)}
        return bytes(templates.render_page("competitions/show.html", viewer=viewer, now=now, **shown).body)

    return templates.page_from_cache(session, cache, etag, viewer, render)


def _track_of(state: CompetitionState, query: BoardQuery) -> TrackKind:
    return query.track or ("public" if query.late else state.first_board)


def _entry_values(
    session: Session, state: CompetitionState, account: Account | None, now: datetime
) -> dict[str, object]:
    """What the page says about entering: the rules, the allowlist, the quota."""
    competition = state.competition
    accepted = account is not None and rules.has_accepted(session, competition, account)
    invited = account is not None and allowlist.is_invited(session, competition, account)
    organizes = roles.is_organizer(account, competition.id)
    judges = account is not None and competition_roles.judges_here(session, competition, account)
    may_enter = (state.phase is Phase.OPEN or takes_late(state, now)) and not judges
    quota = quotas.quota_of(session, state, account, now=now) if account and may_enter else None
    return {
        "rules_sha256": rules.rules_version_of(competition),
        "rules_accepted": accepted,
        "may_enter": may_enter,
        "judges": judges,
        "role": competition_roles.role_of(account, competition) if account else None,
        "invited": invited,
        "quota": quota_message_of(quota) if quota else None,
        "may_download": (accepted and invited) or organizes,
    }


def _board_values(
    session: Session, state: CompetitionState, query: BoardQuery, account: Account | None, now: datetime
) -> dict[str, Any]:
    """The page of the board, and what stands around it."""
    after = query.after
    search = query.search.strip()
    organizes = roles.is_organizer(account, state.competition.id)
    board = standings.standings(
        session,
        state,
        _track_of(state, query),
        account,
        after=after,
        limit=PAGE_SIZE + 1,
        late=query.late,
        as_of=query.as_of,
        search=search,
        now=now,
    )
    return {
        "state": state,
        "storage": storage.usage_of_competition(session, state.competition, now) if organizes else None,
        "board": board,
        "page": board_page_of(board, after=after),
        "shown_tracks": [(each, find_metric(each.metric)) for each in board.shown_tracks],
        "columns": [each.name for each in board.shown_tracks if each.name in query.columns],
        "deadline": formatting.deadline(state, now),
        "timeline": timeline_of(state),
        "window": appeal_windows.window_of(state),
        "appeals_end": appeal_windows.appeals_end(session, state),
        "winners": [place for place in board.places if place.rank <= PODIUM or place.prize],
        "former": board_versions.former_version(state),
        "tabs": board_tabs_of(state, account, now, late=query.late),
        "medals": [(medal, state.competition.medals.get(medal, 0)) for medal in MEDALS],
        "page_size": PAGE_SIZE,
        "search": search,
        "after": after,
    }


@router.api_route("/competitions/{slug}/versions", methods=["GET", "HEAD"])
def show_versions(
    slug: str,
    request: Request,
    session: DbSession,
    account: Visitor,
    viewer: CurrentCaller,
    now: Now,
    after: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
) -> Response:
    """The versions of the private board, and the ranks that the newest one has moved."""
    charge_past_board(request, account)
    state = standings.visible_state(session, slug, account, now)
    page = board_versions.changes_page(session, state, account, after=after, limit=PAGE_SIZE)
    former = board_versions.former_version(state)
    return templates.render_page(
        "leaderboard/versions.html", viewer=viewer, state=state, page=page, former=former, now=now
    )


@router.api_route("/competitions/{slug}/uncertainty", methods=["GET", "HEAD"])
def show_uncertainty(
    slug: str,
    request: Request,
    session: DbSession,
    account: Visitor,
    viewer: CurrentCaller,
    cache: AppResponseCache,
    now: Now,
    track: TrackKind | None = None,
) -> Response:
    """How certain the ranks of a board are, and what medals and prizes hang on."""
    state = standings.visible_state(session, slug, account, now)
    track = track or state.first_board
    version, body = uncertainty_json(session, state, track, account, cache)
    etag = etag_of(*_etag_parts(session, state, track, viewer, now), version)
    if is_known(request, etag):
        return templates.not_modified(etag)

    def render() -> bytes:
        shown = UncertaintyView.model_validate_json(body)
        return bytes(
            templates.render_page("leaderboard/uncertainty.html", viewer=viewer, state=state, shown=shown).body
        )

    return templates.page_from_cache(session, cache, etag, viewer, render)


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
    minute, because the page shows relative times; what is stored is no older than that, too."""
    account = viewer.account if viewer else None
    columns = [getattr(state.competition, column.key) for column in type(state.competition).__table__.columns]
    version = standings.board_version(session, state, track, account, now)
    viewer_parts = (viewer.account.handle, viewer.csrf, viewer.unread) if viewer else None
    return templates.BUILD_DIGEST, version, track, columns, viewer_parts, now.replace(second=0, microsecond=0)
