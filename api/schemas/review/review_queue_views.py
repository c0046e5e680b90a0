"""Makes the review queue's responses. :mod:`scorer.review.review_queue` leaves out what a reviewer may not see yet."""

import math
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from api.schemas.review.review_queue import (
    AgreementView,
    DeskEntryView,
    DeskView,
    DoubleView,
    FlaggedView,
    GoalView,
    GuessView,
    ImageComparisonView,
    LabelView,
    OpinionsView,
    OtherView,
    PairView,
    ReasonView,
    ReviewView,
    SharingView,
)
from api.schemas.review.rulings import case_view
from api.schemas.submissions.submissions import submission_view
from scorer.competitions.competition_state import CompetitionState
from scorer.db.evidence.shared_images import SharingEntry
from scorer.db.submissions.duplicates import Duplicate
from scorer.db.tables import Account, ImageComparison, Review, Submission
from scorer.evidence.closest_pairs import PairImages
from scorer.findings.duplicates import shared_images_sentence
from scorer.review import review_queue
from scorer.review.flags import FlaggedEntry, FlaggedPage
from scorer.review.reviews import Agreement, Opinions


def review_queue_view(state: CompetitionState, queue: FlaggedPage, agreement: Agreement, *, after: int) -> DeskView:
    """A page of the queue."""
    kappa = None if math.isnan(agreement.kappa) else agreement.kappa
    return DeskView(
        competition=state.competition.slug,
        entries=[flagged_view(each) for each in queue.entries],
        counts=dict(queue.counts),
        goals=[GoalView(**vars(each)) for each in queue.goals],
        agreement=AgreementView(entries=agreement.entries, agreed=agreement.agreed, kappa=kappa),
        next_after=after + len(queue.entries) if queue.more else None,
    )


def flagged_view(flagged: FlaggedEntry) -> FlaggedView:
    """An entry in the queue."""
    fields = vars(flagged) | {"reasons": [ReasonView(**vars(each)) for each in flagged.reasons]}
    return FlaggedView.model_validate(fields)


def entry_view(
    session: Session,
    state: CompetitionState,
    submission: Submission,
    reviewer: Account,
    pairs: Mapping[str, Sequence[PairImages]],
) -> DeskEntryView:
    """An entry as this reviewer may see it."""
    entry = review_queue.review_entry_for(session, state, submission, reviewer)
    return DeskEntryView(
        entry=submission_view(session, submission, reviewer, ranked=False, for_review=True),
        flagged=flagged_view(entry.flagged) if entry.flagged else None,
        findings=[ReasonView(**vars(each)) for each in entry.findings],
        pairs={kind: [pair_view(each) for each in of_track] for kind, of_track in pairs.items()},
        doubles=[_double(each) for each in entry.duplicates],
        sharing=[_sharing(each, entry.came_first[each.of, each.ref]) for each in entry.sharing],
        comparison=_comparison(entry.comparison) if entry.comparison else None,
        others=[_other(each) for each in entry.others],
        opinions=opinions_view(submission, entry.opinions),
        guesses=[GuessView.model_validate(each, from_attributes=True) for each in entry.early_labels],
        case=case_view(session, state, submission, inside=True),
    )


def pair_view(pair: PairImages) -> PairView:
    """A pair of images, with its distances."""
    return PairView(
        number=pair.number,
        image=pair.place,
        reference_name=pair.reference_name,
        distance=pair.distance,
        difference=pair.difference,
        mirrored_difference=pair.mirrored_difference,
        mirrored=pair.is_mirrored,
    )


def _double(row: Duplicate) -> DoubleView:
    fields = {name: getattr(row, name) for name in ("ref", "team", "same_zip", "accepted_at")}
    return DoubleView.model_validate(fields | {"submission_id": row.id})


def _sharing(row: SharingEntry, came_first: str) -> SharingView:
    names = ("ref", "team", "accepted_at", "images", "equal", "share", "examples")
    fields = {name: getattr(row, name) for name in names}
    words = shared_images_sentence(row.images, row.equal, row.share)
    return SharingView.model_validate(fields | {"submission_id": row.id, "words": words, "came_first": came_first})


def _comparison(row: ImageComparison) -> ImageComparisonView:
    return ImageComparisonView.model_validate(row, from_attributes=True)


def _other(other: review_queue.OtherEntry) -> OtherView:
    submission = other.submission
    score = other.score
    return OtherView.model_validate(
        {
            "submission_id": submission.id,
            "ref": submission.ref,
            "file_name": submission.file_name,
            "status": submission.status,
            "memorization_distance": score.memorization_distance if score is not None else None,
            "penalised": score.penalised if score is not None else None,
            "label": other.label,
        }
    )


def opinions_view(submission: Submission, opinions: Opinions) -> OpinionsView:
    """The reviews of an entry as its viewer may see them."""
    decided = opinions.decided
    label = {name: getattr(decided, name) for name in ("label", "note", "created_at")} if decided else None
    return OpinionsView(
        own=_review(opinions.own) if opinions.own else None,
        others=[_review(each) for each in opinions.others],
        count=opinions.count,
        complete=opinions.complete,
        disputed=opinions.disputed,
        decided=LabelView.model_validate(label | {"submission_id": submission.id}) if label else None,
    )


def _review(review: Review) -> ReviewView:
    fields = {name: getattr(review, name) for name in ("label", "intent", "note", "created_at")}
    return ReviewView.model_validate(fields | {"reviewer": review.reviewer.handle})
