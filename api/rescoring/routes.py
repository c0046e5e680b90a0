"""Rescoring campaigns: starting, following, previewing and deciding about them. Organizers only."""

from typing import Annotated

from fastapi import Query
from sqlalchemy.orm import Session

from api.http.dependencies import ActingOrganizer, AppSettings
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.rescoring.views import (
    CampaignDecision,
    CampaignPage,
    CampaignView,
    NewCampaignBody,
    campaign_view,
)
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.rescoring import campaign_status, campaigns, switching
from scorer.rescoring.preview import SwitchPreview, preview

router = ApiRouter(prefix="/competitions/{slug}/rescoring", tags=["rescoring"])


@router.get("")
def list_campaigns(slug: str, acting: ActingOrganizer, wanted: Paging) -> CampaignPage:
    """List the rescoring campaigns of a competition, newest first."""
    state = load_state(acting.session, slug, acting.now)
    page = wanted.slice_all(campaign_status.list_campaigns(acting.session, state))
    views = [campaign_view(acting.session, state, status) for status in page.rows]
    return CampaignPage(campaigns=views, next_after=page.next_after)


@router.post("", status_code=202)
def start(slug: str, body: NewCampaignBody, acting: ActingOrganizer, settings: AppSettings) -> CampaignView:
    """Start a rescoring campaign, which measures submissions of a track again when no other jobs are waiting. Boards
    change only after a switch."""
    wanted = campaigns.NewCampaign(**body.model_dump())
    state, weights = load_state(acting.session, slug, acting.now), settings.weights_sha256
    campaign = campaigns.start(acting, state, wanted, weights=weights)
    return campaign_view(acting.session, state, campaign_status.load_status(acting.session, campaign))


@router.get("/{campaign_id}")
def get_campaign(slug: str, campaign_id: int, acting: ActingOrganizer) -> CampaignView:
    """Get a campaign's progress, and how its measurements differ from the previous ones."""
    return _view(acting.session, load_state(acting.session, slug, acting.now), campaign_id)


@router.get("/{campaign_id}/preview")
def preview_switch(
    slug: str,
    campaign_id: int,
    acting: ActingOrganizer,
    tau: Annotated[float | None, Query(ge=0, le=2, description="The tau to set with the switch.")] = None,
) -> SwitchPreview:
    """Preview the ranks, medals and prizes that a switch, or undoing it, would change."""
    state = load_state(acting.session, slug, acting.now)
    campaign = campaign_status.find_campaign(acting.session, state, campaign_id)
    return preview(acting.session, state, campaign, tau=tau)


@router.post("/{campaign_id}/decisions", status_code=201)
def decide(slug: str, campaign_id: int, body: CampaignDecision, acting: ActingOrganizer) -> CampaignView:
    """Pause, resume or cancel a campaign, switch to its measurements, or undo a switch. The request fails with 409 if
    the campaign's state does not allow it. Neither `switch` nor `undo` is possible while the final board is
    published."""
    state = load_state(acting.session, slug, acting.now)
    switching.decide(acting, state, campaign_id, **body.model_dump())
    return _view(acting.session, state, campaign_id)


def _view(session: Session, state: CompetitionState, campaign_id: int) -> CampaignView:
    campaign = campaign_status.find_campaign(session, state, campaign_id)
    return campaign_view(session, state, campaign_status.load_status(session, campaign))
