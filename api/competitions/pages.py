"""The list of competitions, and the page of a competition with its board."""

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from api.http.dependencies import ActingSignedIn, ActingVisitor, AppResponseCache, AppSettings, CurrentViewer
from api.http.etags import compute_etag, is_known
from api.http.forms import FormFields, text
from api.http.request_charges import charge_past_board
from api.http.routing import Router
from api.leaderboard.pages import BoardQuery, board_values, etag_parts
from api.rendering import templates
from api.rendering.quota import describe_quota
from scorer.accounts import roles
from scorer.acting import Acting
from scorer.competitions import allowlist, competition_roles, competition_state, draw_secrets, rules
from scorer.competitions.competition_state import CompetitionState, takes_late
from scorer.db.tables import Account
from scorer.generators.limits import DEFAULT_LIMITS
from scorer.generators.onnx_files import SUPPORTED_OPERATORS, export_command
from scorer.leaderboard import board_access, standings
from scorer.lifecycle import Phase
from scorer.submissions import intake
from scorer.teams import quotas
from scorer.teams.storage import build_upload_limits

router = Router(include_in_schema=False)
LISTED_COMPETITIONS = 20
GENERATORS = {"limits": DEFAULT_LIMITS, "operators": SUPPORTED_OPERATORS, "export": export_command(64)}
"""What the page of a competition of generators says about them."""


@router.api_route("/", methods=["GET", "HEAD"])
def list_competitions(
    acting: ActingVisitor, viewer: CurrentViewer, after: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0
) -> Response:
    visible = competition_state.visible_competitions(acting)
    page = [competition.id for competition in visible[after : after + LISTED_COMPETITIONS]]
    states = competition_state.load_states(acting.session, page, acting.now)
    return templates.render_page(
        "competitions/list.html",
        viewer=viewer,
        states=states,
        teams=standings.count_teams(acting.session, states),
        previous=max(0, after - LISTED_COMPETITIONS) if after else None,
        following=after + LISTED_COMPETITIONS if after + LISTED_COMPETITIONS < len(visible) else None,
        now=acting.now,
    )


@router.api_route("/competitions/{slug}", methods=["GET", "HEAD"])
def show_leaderboard(
    slug: str,
    request: Request,
    acting: ActingVisitor,
    viewer: CurrentViewer,
    cache: AppResponseCache,
    settings: AppSettings,
    query: Annotated[BoardQuery, Query()],
) -> Response:
    if query.as_of is not None:
        charge_past_board(request, acting.actor)
    board_access.require_past(query.as_of, acting.now)
    for state in standings.states_to_show(acting, slug):
        secrets = draw_secrets.load_shown(acting.session, [state], settings.draw_key)
        limit = intake.upload_limit(state, build_upload_limits(settings))
        values = {
            **_entry_values(acting, state),
            "draw_secrets": secrets.get(state.competition.id),
            "max_bytes": min(limit, DEFAULT_LIMITS.file_bytes),
        }
        track = query.choose_track(state)
        parts = etag_parts(acting.session, state, track, viewer=viewer, now=acting.now)
        listed = [file.id for file in state.files], [announcement.id for announcement in state.announcements]
        etag = compute_etag(*parts, query, values, listed)
        if is_known(request, etag):
            return templates.not_modified(etag)
        if viewer is None and (body := cache.find(etag)) is not None:
            return templates.cached_page(body, etag)

    def render() -> bytes:
        shown = {**values, **GENERATORS, **board_values(acting, state, query)}
        return bytes(templates.render_page("competitions/show.html", viewer=viewer, now=acting.now, **shown).body)

    return templates.page_from_cache(acting.session, cache, etag, viewer=viewer, make=render)


def _entry_values(acting: Acting[Account | None], state: CompetitionState) -> dict[str, object]:
    """The template values about entering: the rules, the allowlist and the quota."""
    competition = state.competition
    accepted = acting.actor is not None and rules.has_accepted(acting.session, competition, acting.actor)
    invited = acting.actor is not None and allowlist.is_invited(acting.session, competition, acting.actor)
    organizes = roles.is_organizer(acting.actor, competition.id)
    judges = acting.actor is not None and competition_roles.judges_here(acting.session, competition, acting.actor)
    may_enter = (state.phase is Phase.OPEN or takes_late(state, acting.now)) and not judges
    quota = (
        quotas.load_quota(acting.session, state, acting.actor, now=acting.now) if acting.actor and may_enter else None
    )
    return {
        "rules_sha256": rules.compute_rules_version(competition),
        "rules_accepted": accepted,
        "may_enter": may_enter,
        "judges": judges,
        "role": competition_roles.find_role(acting.actor, competition) if acting.actor else None,
        "invited": invited,
        "quota": describe_quota(quota) if quota else None,
        "may_download": (accepted and invited) or organizes,
    }


@router.post("/competitions/{slug}/rules-acceptance")
def accept_rules(slug: str, fields: FormFields, acting: ActingSignedIn) -> Response:
    state = competition_state.visible_state(acting, slug)
    rules.accept_rules(acting, state, text(fields, "rules_sha256"))
    return templates.see_other(f"/competitions/{slug}{'/submit' if text(fields, 'then') == 'submit' else '#rules'}")
