"""Seeing a rescoring campaign and deciding about it, as pages and JSON routes do."""

from typing import Literal

from sqlalchemy.orm import Session

from api.rescoring.views import CampaignView, campaign_view
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.rescoring import campaigns, switching
from scorer.rescoring.campaign_status import CampaignStatus, campaign_of, list_campaigns
from scorer.rescoring.requirements import possible_decisions

AnyDecision = Literal["pause", "resume", "cancel", "switch", "undo"]


def all_views(session: Session, state: CompetitionState) -> list[CampaignView]:
    """All campaigns of a competition, newest first."""
    return [view_of(session, state, status) for status in list_campaigns(session, state)]


def view_of(session: Session, state: CompetitionState, status: CampaignStatus) -> CampaignView:
    """A campaign, how far it is, and what can be decided about it now."""
    return campaign_view(status, possible_decisions(session, state, status))


def decide(
    acting: Acting, state: CompetitionState, campaign_id: int, *, decision: AnyDecision, reason: str, tau: float | None
) -> None:
    """Carry out what an organizer decides about a campaign; errors as those of :mod:`scorer.rescoring`."""
    campaign = campaign_of(acting.session, state, campaign_id)
    if decision == "switch":
        switching.switch(acting, state, campaign, reason=reason, tau=tau)
    elif decision == "undo":
        switching.undo(acting, state, campaign, reason=reason)
    else:
        campaigns.decide(acting, state, campaign, decision=decision, reason=reason)
