"""Schemas of rescoring campaigns."""

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
    """The submissions to measure again, and what to change. By default, only the workers' scorer version is new."""

    track: TrackKind = "public"
    reason: str = Field(min_length=1, max_length=2000)
    submissions: list[str] | None = Field(
        None,
        min_length=1,
        max_length=10_000,
        description="The IDs of submissions; null for all scored submissions of the track.",
    )
    extractor: str | None = Field(
        None, examples=["nasnetalarge"], description="Another extractor, for all submissions."
    )
    references: dict[ReferenceRole, str] = Field(
        default_factory=dict,
        description="The SHA-256 of corrected reference sets by role, from the responses to their uploads.",
    )


class CampaignDecision(Request):
    """A decision about a campaign. `switch` makes its measurements count; `undo` reverts the switch."""

    decision: CampaignAct
    reason: str = Field(min_length=1, max_length=2000)
    tau: float | None = Field(
        None,
        ge=0,
        le=2,
        description="For `switch`: the track's new tau. Null keeps the current one, or sets half the held-out distance"
        " if the feature space changes.",
    )


class CampaignActView(RecordView):
    kind: CampaignAct
    reason: str
    by: str
    created_at: datetime


class CampaignView(RecordView):
    """A rescoring campaign and its progress."""

    id: int
    track: str = Field(description="`public` or `private`; `former` if its extractor has been changed since.")
    state: CampaignState
    reason: str
    by: str
    created_at: datetime
    entries: int | None = Field(description="The number of selected submissions; null for all.")
    extractor: str
    references: int = Field(description="The ID of its prepared references.")
    new_references: bool = Field(description="Whether the references differ from the track's references at the start.")
    done: int
    waiting: int
    failed: int
    error: str | None = Field(description="The error of the last failed job.")
    missing: int = Field(description="The number of submissions that are not measured.")
    without_zip: int = Field(
        description="The number of the track's submissions that can't be measured again because their zip is gone."
    )
    measured: int
    changed: int = Field(description="The number of submissions whose FID or memorization distance changed.")
    fid_difference: float | None = Field(description="The largest difference in FID.")
    distance_difference: float | None = Field(description="The largest difference in memorization distance.")
    scorer_versions: list[str] = Field(description="The scorer versions of the measurements.")
    allowed: list[str] = Field(description="The decisions that are possible now.")
    acts: list[CampaignActView] = Field(description="Newest first.")


class CampaignPage(Page):
    campaigns: list[CampaignView]


def campaign_view(session: Session, state: CompetitionState, status: CampaignStatus) -> CampaignView:
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
