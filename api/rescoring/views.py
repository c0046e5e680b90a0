"""Schemas of rescoring campaigns, and how responses are made."""

from datetime import datetime

from pydantic import Field
from sqlalchemy.orm import Session

from api.http.views import Page, RecordView, Request
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.reference_sets import ReferenceRole
from scorer.lifecycle import TrackKind
from scorer.rescoring.campaign_status import CampaignState, CampaignStatus
from scorer.rescoring.campaigns import CampaignAct
from scorer.rescoring.requirements import possible_decisions


class NewCampaignBody(Request):
    """Which entries are measured anew, and by which terms; by default the workers' scorer version alone is new."""

    track: TrackKind = "public"
    reason: str = Field(min_length=1, max_length=2000)
    submissions: list[str] | None = Field(
        None, min_length=1, max_length=10_000, description="Ids of entries; null: all that are scored on the track."
    )
    extractor: str | None = Field(None, examples=["nasnetalarge"], description="Another extractor, for all entries.")
    references: dict[ReferenceRole, str] = Field(
        default_factory=dict, description="Corrected reference sets by role: their SHA-256, as their upload answers."
    )


class CampaignDecision(Request):
    """What is decided about a campaign. A switch lets its measurements count, undo takes that back."""

    decision: CampaignAct
    reason: str = Field(min_length=1, max_length=2000)
    tau: float | None = Field(
        None, ge=0, le=2, description="With a switch: the track's threshold from then on; null: the one in force."
    )


class CampaignActView(RecordView):
    kind: CampaignAct
    reason: str
    by: str
    created_at: datetime


class CampaignView(RecordView):
    """A rescoring campaign and how far it is."""

    id: int
    track: str = Field(description="`public` or `private`; `former` for a private track that was replaced since.")
    state: CampaignState
    reason: str
    by: str
    created_at: datetime
    entries: int | None = Field(description="How many entries were chosen; null: all.")
    extractor: str
    references: int = Field(description="The number of the prepared references that it measures against.")
    new_references: bool = Field(description="Whether they are others than the track had when it began.")
    done: int
    waiting: int
    failed: int
    error: str | None = Field(description="Of the job that failed last.")
    missing: int = Field(description="Entries that it has not measured.")
    without_zip: int = Field(description="Entries of the track that cannot be measured again.")
    measured: int
    changed: int = Field(description="Entries whose FID or memorization distance differs from the measurement before.")
    fid_difference: float | None = Field(description="The largest difference of FID.")
    distance_difference: float | None = Field(description="The largest difference of the memorization distance.")
    scorer_versions: list[str] = Field(description="Those that have measured.")
    allowed: list[str] = Field(description="What can be decided about it now.")
    acts: list[CampaignActView] = Field(description="Newest first.")


class CampaignPage(Page):
    campaigns: list[CampaignView]


def campaign_view(session: Session, state: CompetitionState, status: CampaignStatus) -> CampaignView:
    """A campaign, how far it is, and what can be decided about it now."""
    campaign = status.campaign
    return CampaignView.of(
        status,
        id=campaign.id,
        track=status.track.kind,
        reason=campaign.reason,
        by=campaign.author.handle,
        created_at=campaign.created_at,
        entries=None if campaign.submission_refs is None else len(campaign.submission_refs),
        extractor=campaign.preparation.extractor,
        references=campaign.preparation_id,
        new_references=not campaign.keeps_references,
        **status.difference._asdict(),
        allowed=possible_decisions(session, state, status),
        acts=[CampaignActView.of(act, by=act.author.handle) for act in status.acts],
    )
