"""The review queue, labels and reviews: requests and responses."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.schemas.base import Request
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
    """Why an entry is flagged, or what was found about it."""

    name: str = Field(examples=["borderline"])
    words: str


class FlaggedView(BaseModel):
    """An entry that needs eyes."""

    submission_id: str
    ref: int
    team: str
    reasons: list[ReasonView]
    weight: int = Field(description="How decisive its reasons are together; the heaviest comes first.")
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
    kappa: float | None = Field(description="Cohen's kappa; null where it cannot be said.")


class DeskView(BaseModel):
    """A page of the queue, and how far the review is."""

    competition: str
    entries: list[FlaggedView]
    counts: dict[QueueState, int]
    goals: list[GoalView]
    agreement: AgreementView
    next_after: int | None = Field(description="Pass as `after` for the next page; null at the end.")


class NewReview(Request):
    """What a reviewer says of an entry."""

    label: LabelName
    intent: Intent | None = Field(None, description="Whether copying was meant; null for a legitimate entry.")
    note: str = Field("", max_length=5000)


class ReviewView(BaseModel):
    """What one reviewer has said."""

    reviewer: str
    label: LabelName
    intent: Intent | None
    note: str
    created_at: datetime


class OpinionsView(BaseModel):
    """The reviews of an entry, as far as you may see them: others' only once no more are taken."""

    own: ReviewView | None
    others: list[ReviewView]
    count: int
    complete: bool
    disputed: bool
    decided: LabelView | None


class PairView(BaseModel):
    """A generated image and the reference image nearest to it."""

    number: int
    image: int = Field(description="Its place in the zip, names in order.")
    reference_name: str
    distance: float = Field(description="The cosine distance of their features.")
    difference: float = Field(description="Root mean square difference of the pixels, in grey levels.")
    mirrored_difference: float = Field(description="The same with left and right of the reference image exchanged.")
    mirrored: bool = Field(description="Whether the mirrored reference image is the better match.")


class DoubleView(BaseModel):
    """Another entry that is the same zip, or the same images."""

    submission_id: str
    ref: int
    team: str
    same_zip: bool


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
    """An early guess at the label, which decides nothing."""

    label: LabelName
    source: Literal["hand", "import"]
    created_at: datetime


class NewGuess(Request):
    """An organizer's early guess."""

    label: LabelName


class DeskEntryView(BaseModel):
    """Everything about an entry that helps to judge it."""

    entry: SubmissionView
    flagged: FlaggedView | None
    findings: list[ReasonView]
    pairs: dict[TrackKind, list[PairView]]
    doubles: list[DoubleView]
    others: list[OtherView]
    opinions: OpinionsView
    guesses: list[GuessView]
    case: CaseView
