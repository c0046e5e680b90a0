"""The list of competitions, and a competition's page with its board."""

from datetime import datetime
from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.http.dependencies import (
    AppResponseCache,
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
from api.leaderboard.pages import BoardQuery, board_values, etag_parts
from api.rendering import templates
from api.rendering.quota import quota_message_of
from scorer.accounts import roles
from scorer.competitions import allowlist, competition_roles, competition_state, rules
from scorer.competitions.competition_state import CompetitionState, takes_late
from scorer.db.tables import Account
from scorer.leaderboard import board_access, standings
from scorer.lifecycle import Phase
from scorer.teams import quotas

router = Router(include_in_schema=False)
LISTED_COMPETITIONS = 20
"""On a page of the list."""


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
        track = query.track_of(state)
        parts = etag_parts(session, state, track, viewer, now)
        listed = [file.id for file in state.files], [each.id for each in state.announcements]
        etag = etag_of(*parts, query, values, listed)
        if is_known(request, etag):
            return templates.not_modified(etag)
        if viewer is None and (body := cache.find(etag)) is not None:
            return templates.cached_page(body, etag)

    def render() -> bytes:
        shown = {**values, **board_values(session, state, query, account, now)}
        return bytes(templates.render_page("competitions/show.html", viewer=viewer, now=now, **shown).body)

    return templates.page_from_cache(session, cache, etag, viewer, render)


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


@router.post("/competitions/{slug}/rules-acceptance")
def accept_rules(slug: str, fields: FormFields, session: DbSession, viewer: SignedIn, now: Now) -> Response:
    """Accept the rules as the page showed them."""
    state = competition_state.visible_state(session, slug, viewer.account, now)
    rules.accept_rules(session, state, text(fields, "rules_sha256"), account=viewer.account, now=now)
    return templates.see_other(f"/competitions/{slug}{'/submit' if text(fields, 'then') == 'submit' else '#rules'}")
