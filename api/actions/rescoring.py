"""Deciding about a rescoring campaign, as pages and JSON routes do."""

from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account
from scorer.rescoring import campaigns, switching

AnyDecision = Literal["pause", "resume", "cancel", "switch", "undo"]


def decide(
    session: Session,
    state: CompetitionState,
    campaign_id: int,
    decision: AnyDecision,
    *,
    reason: str,
    tau: float | None,
    author: Account,
    now: datetime,
) -> None:
    """Carry out what an organizer decides about a campaign; errors as those of :mod:`scorer.rescoring`."""
    campaign = campaigns.campaign_of(session, state, campaign_id)
    if decision == "switch":
        switching.switch(session, state, campaign, reason=reason, tau=tau, author=author, now=now)
    elif decision == "undo":
        switching.undo(session, state, campaign, reason=reason, author=author, now=now)
    else:
        campaigns.decide(session, state, campaign, decision, reason=reason, author=author, now=now)
