"""Schemas of the review queue, labels and reviews."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.schemas.base import Page, Request
from api.schemas.review.rulings import CaseView
from api.schemas.submissions.submissions import SubmissionView
from scorer.db.review.flag_query import QueueState
from scorer.lifecycle import TrackKind
from scorer.review.reviews import Intent, LabelName


class NewLabel(Request):
    label: LabelName
    note: str = Field("", max_length=5000)


class LabelView(BaseModel):
    submission_id: str
    label: LabelName
    note: str
    created_at: datetime


class ReasonView(BaseModel):
    """A reason for a flag, or a finding."""

    name: str = Field(examples=["borderline"])
    words: str


class FlaggedView(BaseModel):
    """A flagged entry."""

    submission_id: str
    ref: int
    team: str
    reasons: list[ReasonView]
    weight: int = Field(description="The sum of its reasons' weights; the heaviest entry comes first.")
    state: QueueState
    reviews: int
    label: LabelName | None = Field(description="The decided label; shown once the entry is decided.")


class GoalView(BaseModel):
    """How many of the places that win something are reviewed."""

    track: TrackKind
    reviewed: int
    places: int


class AgreementView(BaseModel):
    """How far the two reviewers of an entry agree."""

    entries: int
    agreed: int
    kappa: float | None = Field(description="Cohen's kappa; null where it is not defined.")


class DeskView(Page):
    """A page of the queue, and the progress of the review."""

    competition: str
    entries: list[FlaggedView]
    counts: dict[QueueState, int]
    goals: list[GoalView]
    agreement: AgreementView


class NextView(BaseModel):
    """The entry that you are given to review."""

    entry: FlaggedView | None = Field(description="Null if nothing is left after the first `skip`.")
    skip: int = Field(description="How many of your open entries precede it; one more skips it.")
    claimed_until: datetime | None = Field(description="Until when other reviewers are given others first.")


class NewReview(Request):
    """A reviewer's label, intent and note."""

    label: LabelName
    intent: Intent | None = Field(None, description="Whether copying was meant; null for a legitimate entry.")
    note: str = Field("", max_length=5000)


class ReviewView(BaseModel):
    """One reviewer's review."""

    reviewer: str
    label: LabelName
    intent: Intent | None
    note: str
    created_at: datetime


class OpinionsView(BaseModel):
    """The reviews of an entry that you may see: those of others only once no more are accepted."""

    own: ReviewView | None
    others: list[ReviewView]
    count: int
    complete: bool
    disputed: bool
    decided: LabelView | None


class PairView(BaseModel):
    """A generated image and the reference image nearest to it."""

    number: int
    image: int = Field(description="Its index among the zip's names in order.")
    reference_name: str
    distance: float = Field(description="The cosine distance of their features.")
    difference: float = Field(description="Root mean square difference of the pixels, in grey levels.")
    mirrored_difference: float = Field(description="The same with left and right of the reference image exchanged.")
    mirrored: bool = Field(description="Whether the mirrored reference image is the better match.")


class DoubleView(BaseModel):
    """Another entry with the same zip or the same images."""

    submission_id: str
    ref: int
    team: str
    same_zip: bool
    accepted_at: datetime


class SharingView(BaseModel):
    """An entry of another team that shares images, equal or nearly equal, upright or mirrored."""

    submission_id: str
    ref: int
    team: str
    accepted_at: datetime
    images: int = Field(description="How many images both have.")
    equal: int = Field(description="How many of these are equal pixel by pixel.")
    share: float = Field(description="`images` in those of one entry.")
    words: str = Field(description="The same in a sentence.")
    came_first: str = Field(description="Which entry of the two teams with these images came first, and by how long.")
    examples: list[tuple[int, int]] = Field(
        description="Some of them: the image's index in this entry and in the other one."
    )


class ImageComparisonView(BaseModel):
    """The comparison of an entry's images with those of other teams' entries. Later entries are compared with it."""

    compared: int = Field(description="How many entries it was compared with.")
    common: int = Field(description="How many of its images so many teams have that they count for no pair of entries.")
    created_at: datetime


class OtherView(BaseModel):
    """Another entry of the same team, judged on the public track."""

    submission_id: str
    ref: int
    file_name: str
    status: str
    memorization_distance: float | None
    penalised: bool | None
    label: LabelName | None


class GuessView(BaseModel):
    """An early label, which decides nothing."""

    label: LabelName
    source: Literal["hand", "import"]
    created_at: datetime


class NewGuess(Request):
    """An organizer's early label."""

    label: LabelName


class DeskEntryView(BaseModel):
    """An entry with everything that helps to judge it."""

    entry: SubmissionView
    flagged: FlaggedView | None
    findings: list[ReasonView]
    pairs: dict[TrackKind, list[PairView]]
    doubles: list[DoubleView]
    sharing: list[SharingView] = Field(description="Beside the doubles; those that share most first.")
    comparison: ImageComparisonView | None = Field(description="Null if its images were not compared.")
    others: list[OtherView]
    opinions: OpinionsView
    guesses: list[GuessView]
    case: CaseView
