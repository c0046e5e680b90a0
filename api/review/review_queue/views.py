"""Schemas of the review queue, labels and reviews."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import Page, PairView, RecordView, Request, pair_view
from api.review.rulings.views import CaseView, case_view
from api.submissions.views import SubmissionView, submission_view
from scorer.competitions.competition_state import CompetitionState
from scorer.db.evidence.shared_images import SharingEntry
from scorer.db.review.flag_query import QueueState
from scorer.db.tables import Account, Review, Submission
from scorer.evidence.closest_pairs import PairImages
from scorer.lifecycle import TrackKind
from scorer.review import review_entry
from scorer.review.review_queue import FlaggedPage, FlagReason, Goal
from scorer.review.reviews import Agreement, Intent, LabelName, Opinions
from scorer.review.shared_images import sharing_sentence


class NewLabel(Request):
    label: LabelName
    note: str = Field("", max_length=5000)


class LabelView(RecordView):
    submission_id: str
    label: LabelName
    note: str
    created_at: datetime


class FlaggedView(RecordView):
    submission_id: str
    ref: int
    team: str
    reasons: Sequence[FlagReason]
    weight: int = Field(
        description="The sum of the weights of its reasons. Submissions with a higher weight come first."
    )
    state: QueueState
    reviews: int
    label: LabelName | None = Field(description="The decided label; null until there is one.")


class ReviewQueueView(Page):
    """A page of the queue, and the progress of the review."""

    competition: str
    entries: list[FlaggedView]
    counts: dict[QueueState, int]
    goals: Sequence[Goal]
    agreement: Agreement


class NextView(BaseModel):
    """The next submission to review."""

    entry: FlaggedView | None = Field(description="Null if none is left after the first `skip`.")
    skip: int = Field(description="The number of your open submissions before it. Add 1 to skip it.")
    claimed_until: datetime | None = Field(description="Until this time, other reviewers get other submissions first.")


class NewReview(Request):
    label: LabelName
    intent: Intent | None = Field(None, description="Whether copying was intended; null for a legitimate submission.")
    note: str = Field("", max_length=5000)


class ReviewView(RecordView):
    reviewer: str
    label: LabelName
    intent: Intent | None
    note: str
    created_at: datetime


class OpinionsView(RecordView):
    """The reviews of a submission that you can see. Other people's reviews appear once it accepts no more reviews."""

    own: ReviewView | None
    others: list[ReviewView]
    count: int
    complete: bool
    disputed: bool
    decided: LabelView | None


class DoubleView(RecordView):
    """Another submission with the same zip or the same images."""

    submission_id: str
    ref: int
    team: str
    same_zip: bool
    accepted_at: datetime


class SharingView(RecordView):
    """A submission of another team that shares images, equal or nearly equal, upright or mirrored, or is nearly the
    same generator."""

    submission_id: str
    ref: int
    team: str
    accepted_at: datetime
    images: int = Field(description="The number of shared images.")
    equal: int = Field(description="The number of shared images that are equal pixel by pixel.")
    share: float = Field(description="`images` as a share of the images of one submission.")
    same_latents: float | None = Field(
        description="The share of 64 latents at which two generators have nearly the same image; null if it is small."
    )
    recovered: float | None = Field(
        description="The share of images of one generator that an audit found among those of the other; null if it is"
        " small or was not computed."
    )
    words: str = Field(description="A sentence with these numbers.")
    came_first: str = Field(description="A sentence that says which team submitted these images first.")
    examples: list[tuple[int, int]] = Field(
        description="Some of the images, by their index in this submission and in the other one."
    )


class ImageComparisonView(RecordView):
    """The comparison of a submission's images with those of other teams. Later submissions are compared with it."""

    compared: int = Field(description="The number of submissions that it was compared with.")
    common: int = Field(description="The number of its images that are too common to count as shared.")
    created_at: datetime


class OtherView(RecordView):
    """Another submission of the same team, with its result on the public track."""

    submission_id: str
    ref: int
    file_name: str
    status: str
    memorization_distance: float | None
    penalised: bool | None
    label: LabelName | None


class EarlyLabelView(RecordView):
    """An early label. It is not a decision."""

    label: LabelName
    source: Literal["hand", "import"]
    created_at: datetime


class NewEarlyLabel(Request):
    label: LabelName


class ReviewEntryView(BaseModel):
    """A submission with everything that a reviewer needs."""

    entry: SubmissionView
    flagged: FlaggedView | None
    findings: Sequence[FlagReason]
    pairs: dict[TrackKind, list[PairView]]
    doubles: list[DoubleView]
    sharing: list[SharingView] = Field(
        description="Submissions that share images, without those in `doubles`; the largest share first."
    )
    comparison: ImageComparisonView | None = Field(description="Null if its images were not compared.")
    others: list[OtherView]
    opinions: OpinionsView
    early_labels: list[EarlyLabelView]
    case: CaseView


def review_queue_view(
    state: CompetitionState, queue: FlaggedPage, agreement: Agreement, *, after: int
) -> ReviewQueueView:
    return ReviewQueueView(
        competition=state.competition.slug,
        entries=[FlaggedView.model_validate(entry) for entry in queue.entries],
        counts=dict(queue.counts),
        goals=queue.goals,
        agreement=agreement,
        next_after=after + len(queue.entries) if queue.more else None,
    )


def entry_view(
    session: Session,
    state: CompetitionState,
    submission: Submission,
    *,
    reviewer: Account,
    pairs: Mapping[str, Sequence[PairImages]],
) -> ReviewEntryView:
    entry = review_entry.review_entry_for(session, state, submission, reviewer=reviewer)
    return ReviewEntryView(
        entry=submission_view(session, submission, reviewer, ranked=False, for_review=True),
        flagged=FlaggedView.model_validate(entry.flagged) if entry.flagged else None,
        findings=entry.findings,
        pairs={kind: [pair_view(pair) for pair in of_track] for kind, of_track in pairs.items()},
        doubles=[DoubleView.of(row, submission_id=row.id) for row in entry.duplicates],
        sharing=[_sharing(sharing, entry.came_first[sharing.of, sharing.ref]) for sharing in entry.sharing],
        comparison=ImageComparisonView.model_validate(entry.comparison) if entry.comparison else None,
        others=[_other(other) for other in entry.others],
        opinions=opinions_view(submission, entry.opinions),
        early_labels=[EarlyLabelView.model_validate(early_label) for early_label in entry.early_labels],
        case=case_view(session, state, submission, inside=True),
    )


def _sharing(row: SharingEntry, came_first: str) -> SharingView:
    return SharingView.of(row, submission_id=row.id, words=sharing_sentence(row), came_first=came_first)


def _other(other: review_entry.OtherEntry) -> OtherView:
    score = other.score
    return OtherView.of(
        other.submission,
        submission_id=other.submission.id,
        memorization_distance=score.memorization_distance if score is not None else None,
        penalised=score.penalised if score is not None else None,
        label=other.label,
    )


def opinions_view(submission: Submission, opinions: Opinions) -> OpinionsView:
    decided = opinions.decided
    return OpinionsView.of(
        opinions,
        own=_review(opinions.own) if opinions.own else None,
        others=[_review(review) for review in opinions.others],
        decided=LabelView.of(decided, submission_id=submission.id) if decided else None,
    )


def _review(review: Review) -> ReviewView:
    return ReviewView.of(review, reviewer=review.reviewer.handle)
