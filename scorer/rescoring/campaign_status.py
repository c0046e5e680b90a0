"""The progress of rescoring campaigns, and the results of their measurements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db import rescoring
from scorer.db.jobs import job_queue
from scorer.db.rescoring import MeasuredDifference
from scorer.db.tables import RescoringAct, RescoringCampaign, Track
from scorer.errors import NotFound
from scorer.lifecycle import JobState

CampaignState = Literal["preparing", "failed", "measuring", "paused", "measured", "in force", "taken back", "cancelled"]
"""``failed``: the preparation of its references failed. ``measured``: none of its jobs is waiting or running."""


@dataclass(frozen=True)
class CampaignStatus:
    campaign: RescoringCampaign
    track: Track
    state: CampaignState
    acts: Sequence[RescoringAct]
    """Newest first."""
    done: int
    waiting: int
    failed: int
    missing: int
    """Entries that it has not measured, with or without a job."""
    without_zip: int
    """Entries of its track that cannot be measured again."""
    error: str | None
    """The error of the job that failed last."""
    difference: MeasuredDifference


def find_campaign(session: Session, state: CompetitionState, campaign_id: int) -> RescoringCampaign:
    """``NotFound`` if the competition has no campaign with this id."""
    for campaign in rescoring.load_campaigns(session, state.competition.id):
        if campaign.id == campaign_id:
            return campaign
    raise NotFound("no-campaign", f"This competition has no rescoring campaign {campaign_id}.")


def list_campaigns(session: Session, state: CompetitionState) -> list[CampaignStatus]:
    return [load_status(session, campaign) for campaign in rescoring.load_campaigns(session, state.competition.id)]


def load_status(session: Session, campaign: RescoringCampaign) -> CampaignStatus:
    track = session.get_one(Track, campaign.track_id, populate_existing=True)  # it may have been replaced
    acts = rescoring.load_acts(session, campaign.id)
    progress = job_queue.load_progress(session, campaign_id=campaign.id)
    return CampaignStatus(
        campaign=campaign,
        track=track,
        state=_compute_state(session, campaign, acts, waiting=progress.waiting),
        acts=acts,
        **progress._asdict(),
        missing=len(rescoring.missing_entries(session, campaign)),
        without_zip=rescoring.count_without_zip(session, track.competition_id, rescoring.is_counted(track.id)),
        difference=rescoring.compute_difference(session, campaign),
    )


def _compute_state(
    session: Session, campaign: RescoringCampaign, acts: Sequence[RescoringAct], *, waiting: int
) -> CampaignState:
    kinds = [act.kind for act in acts]
    if "cancel" in kinds:
        return "cancelled"
    switch = next((kind for kind in kinds if kind in rescoring.SWITCHES), None)
    if switch is not None:
        return "in force" if switch == "switch" else "taken back"
    if next((kind for kind in kinds if kind in {"pause", "resume"}), None) == "pause":
        return "paused"
    if campaign.preparation.finished_at is None:
        job = job_queue.newest_job(session, preparation_id=campaign.preparation_id)
        return "failed" if job is not None and job.state == JobState.FAILED else "preparing"
    return "measuring" if waiting else "measured"
