"""The organizers' pages of rescoring campaigns: starting and following them, and previewing a switch."""

from typing import Annotated, Any, get_args

from fastapi import Query
from fastapi.responses import Response

from api.http.dependencies import ActingOrganizer, AppSettings, KnownViewer, SignedIn, Viewer
from api.http.forms import Fields, FormFields, number_field, refusal_on, require_reason, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from api.rescoring.views import campaign_view
from scorer.acting import Acting
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.errors import Invalid, KennelError
from scorer.extractor_catalogue import EXTRACTORS
from scorer.rescoring import campaign_status, campaigns, switching
from scorer.rescoring.campaigns import CampaignAct, NewCampaign
from scorer.rescoring.preview import preview

router = Router(include_in_schema=False)
MAX_SUBMISSIONS = 100_000
"""The maximum length of the field with chosen entries, in characters."""


@router.api_route("/competitions/{slug}/rescoring", methods=["GET", "HEAD"])
def list_campaigns(slug: str, acting: ActingOrganizer, viewer: KnownViewer) -> Response:
    return _list_page(acting, competition_state.load_state(acting.session, slug, acting.now), viewer)


def _list_page(acting: Acting, state: CompetitionState, viewer: Viewer, **outcome: Any) -> Response:
    return render_page(
        "rescoring/list.html",
        viewer=viewer,
        now=acting.now,
        state=state,
        campaigns=[
            campaign_view(acting.session, state, status)
            for status in campaign_status.list_campaigns(acting.session, state)
        ],
        extractors=[spec.identity for spec in EXTRACTORS.values()],
        **outcome,
    )


@router.post("/competitions/{slug}/rescoring")
def start(slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn, settings: AppSettings) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    with refusal_on(_list_page, acting, state, viewer):
        campaign = campaigns.start(acting, state, _wanted(fields), weights=settings.weights_sha256)
    return see_other(f"/competitions/{slug}/rescoring/{campaign.id}")


def _wanted(fields: Fields) -> NewCampaign:
    reason = text(fields, "reason", max_length=2000).strip()
    require_reason(reason)
    ids = text(fields, "submissions", max_length=MAX_SUBMISSIONS).split()
    return NewCampaign(
        track="private" if fields.get("track") == "private" else "public",
        reason=reason,
        submissions=ids or None,
        extractor=text(fields, "extractor", max_length=100) or None,
    )


@router.api_route("/competitions/{slug}/rescoring/{campaign_id}", methods=["GET", "HEAD"])
def show_campaign(
    slug: str,
    campaign_id: int,
    acting: ActingOrganizer,
    viewer: KnownViewer,
    tau: Annotated[float | None, Query(ge=0, le=2)] = None,
) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    return _campaign_page(acting, state, campaign_id, viewer=viewer, tau=tau)


def _campaign_page(
    acting: Acting,
    state: CompetitionState,
    campaign_id: int,
    *,
    viewer: Viewer,
    tau: float | None = None,
    **outcome: Any,
) -> Response:
    campaign = campaign_status.find_campaign(acting.session, state, campaign_id)
    status = campaign_status.load_status(acting.session, campaign)
    shown: dict[str, Any] = {"preview": None, "refusal": None}
    is_over = status.state == "cancelled" or status.track.kind == "former"
    if status.difference.measured and not is_over:
        try:
            shown["preview"] = preview(acting.session, state, campaign, tau=tau)
        except KennelError as refusal:
            shown["refusal"] = refusal.message
    return render_page(
        "rescoring/show.html",
        viewer=viewer,
        now=acting.now,
        state=state,
        campaign=campaign_view(acting.session, state, status),
        tau=tau,
        busy=status.state in {"preparing", "measuring"} and not is_over,
        **shown,
        **outcome,
    )


@router.post("/competitions/{slug}/rescoring/{campaign_id}")
def decide(slug: str, campaign_id: int, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    reason = text(fields, "reason", max_length=2000).strip()
    with refusal_on(_campaign_page, acting, state, campaign_id, viewer=viewer):
        require_reason(reason)
        tau = number_field(fields, "tau", float)
        switching.decide(acting, state, campaign_id, decision=_decision(fields), reason=reason, tau=tau)
    return see_other(f"/competitions/{slug}/rescoring/{campaign_id}")


def _decision(fields: Fields) -> CampaignAct:
    for decision in get_args(CampaignAct):
        if fields.get("decision") == decision:
            return decision  # type: ignore[no-any-return]
    raise Invalid("no-decision", "Choose what to do with the campaign.")
