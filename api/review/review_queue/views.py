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
from scorer.findings.duplicates import shared_images_sentence
from scorer.lifecycle import TrackKind
from scorer.review import review_entry
from scorer.review.review_queue import FlaggedPage, FlagReason, Goal
from scorer.review.reviews import Agreement, Intent, LabelName, Opinions


class NewLabel(Request):
    label: LabelName
    note: str = Field("", max_length=5000)


class LabelView(RecordView):
    submission_id: str
    label: LabelName
    note: str
    created_at: datetime


class FlaggedView(RecordView):
    """A flagged entry."""

    submission_id: str
    ref: int
    team: str
    reasons: Sequence[FlagReason]
    weight: int = Field(description="The sum of its reasons' weights; the heaviest entry comes first.")
    state: QueueState
    reviews: int
    label: LabelName | None = Field(description="The decided label; shown once the entry is decided.")


class ReviewQueueView(Page):
    """A page of the queue, and the progress of the review."""

    competition: str
    entries: list[FlaggedView]
    counts: dict[QueueState, int]
    goals: Sequence[Goal]
    agreement: Agreement


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


class ReviewView(RecordView):
    """One reviewer's review."""

    reviewer: str
    label: LabelName
    intent: Intent | None
    note: str
    created_at: datetime


class OpinionsView(RecordView):
    """The reviews of an entry that you may see: those of others only once no more are accepted."""

    own: ReviewView | None
    others: list[ReviewView]
    count: int
    complete: bool
    disputed: bool
    decided: LabelView | None


class DoubleView(RecordView):
    """Another entry with the same zip or the same images."""

    submission_id: str
    ref: int
    team: str
    same_zip: bool
    accepted_at: datetime


class SharingView(RecordView):
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


class ImageComparisonView(RecordView):
    """The comparison of an entry's images with those of other teams' entries. Later entries are compared with it."""

    compared: int = Field(description="How many entries it was compared with.")
    common: int = Field(description="How many of its images so many teams have that they count for no pair of entries.")
    created_at: datetime


class OtherView(RecordView):
    """Another entry of the same team, judged on the public track."""

    submission_id: str
    ref: int
    file_name: str
    status: str
    memorization_distance: float | None
    penalised: bool | None
    label: LabelName | None


class EarlyLabelView(RecordView):
    """An early label, which decides nothing."""

    label: LabelName
    source: Literal["hand", "import"]
    created_at: datetime


class NewEarlyLabel(Request):
    """An organizer's early label."""

    label: LabelName


class ReviewEntryView(BaseModel):
    """An entry with everything that helps to judge it."""

    entry: SubmissionView
    flagged: FlaggedView | None
    findings: Sequence[FlagReason]
    pairs: dict[TrackKind, list[PairView]]
    doubles: list[DoubleView]
    sharing: list[SharingView] = Field(description="Beside the doubles; those that share most first.")
    comparison: ImageComparisonView | None = Field(description="Null if its images were not compared.")
    others: list[OtherView]
    opinions: OpinionsView
    early_labels: list[EarlyLabelView]
    case: CaseView


def review_queue_view(
    state: CompetitionState, queue: FlaggedPage, agreement: Agreement, *, after: int
) -> ReviewQueueView:
    """A page of the queue."""
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
    """An entry as this reviewer may see it."""
    entry = review_entry.review_entry_for(session, state, submission, reviewer=reviewer)
    return ReviewEntryView(
        entry=submission_view(session, submission, reviewer, ranked=False, for_review=True),
        flagged=FlaggedView.model_validate(entry.flagged) if entry.flagged else None,
        findings=entry.findings,
        pairs={kind: [pair_view(each) for each in of_track] for kind, of_track in pairs.items()},
        doubles=[DoubleView.of(row, submission_id=row.id) for row in entry.duplicates],
        sharing=[_sharing(each, entry.came_first[each.of, each.ref]) for each in entry.sharing],
        comparison=ImageComparisonView.model_validate(entry.comparison) if entry.comparison else None,
        others=[_other(each) for each in entry.others],
        opinions=opinions_view(submission, entry.opinions),
        early_labels=[EarlyLabelView.model_validate(each) for each in entry.early_labels],
        case=case_view(session, state, submission, inside=True),
    )


def _sharing(row: SharingEntry, came_first: str) -> SharingView:
    words = shared_images_sentence(row.images, row.equal, row.share)
    return SharingView.of(row, submission_id=row.id, words=words, came_first=came_first)


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
    """The reviews of an entry as its viewer may see them."""
    decided = opinions.decided
    return OpinionsView.of(
        opinions,
        own=_review(opinions.own) if opinions.own else None,
        others=[_review(each) for each in opinions.others],
        decided=LabelView.of(decided, submission_id=submission.id) if decided else None,
    )


def _review(review: Review) -> ReviewView:
    return ReviewView.of(review, reviewer=review.reviewer.handle)
