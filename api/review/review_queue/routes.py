"""The review queue: flagged submissions, a submission with its evidence, reviews, and images of closest pairs."""

from typing import Annotated

from fastapi import Path, Query, Request, Response

from api.http.dependencies import (
    ActingOrganizer,
    ActingReader,
    ActingReviewer,
    DbSession,
    Reviewer,
    ZipImages,
)
from api.http.etags import compute_etag, picture_response
from api.http.routing import ApiRouter
from api.http.security_headers import UNSTORED_IMAGE_HEADERS
from api.openapi.files import PICTURE, file_answer
from api.review.review_queue.views import (
    EarlyLabelView,
    FlaggedView,
    LabelView,
    NewEarlyLabel,
    NewLabel,
    NewReview,
    NextView,
    OpinionsView,
    ReviewEntryView,
    ReviewQueueView,
    entry_view,
    opinions_view,
    review_queue_view,
)
from scorer.accounts.roles import is_organizer
from scorer.competitions.competition_state import load_state, visible_state
from scorer.db.review.flag_query import QueueState
from scorer.evidence import closest_pairs
from scorer.lifecycle import TrackKind
from scorer.review import review_queue, reviews
from scorer.submissions import access

router = ApiRouter(tags=["review queue"])


@router.get("/competitions/{slug}/review-queue")
def queue(
    slug: str,
    acting: ActingReviewer,
    state: Annotated[list[QueueState] | None, Query(description="Include only submissions in these states.")] = None,
    after: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> ReviewQueueView:
    """List flagged submissions with their reasons, highest priority first. The response also has the progress of the
    review and the agreement of reviewers. Reviewers and organizers only."""
    competition = visible_state(acting, slug)
    access.require_reviewer(competition, acting.actor)
    page = review_queue.list_flagged(
        acting.session, competition, acting.actor, states=state or review_queue.STATES, after=after, limit=limit
    )
    return review_queue_view(competition, page, reviews.agreement(acting.session, competition), after=after)


@router.post("/competitions/{slug}/review-queue/next")
def claim_next(
    slug: str,
    acting: ActingReviewer,
    skip: Annotated[int, Query(ge=0, le=1_000_000, description="The number of submissions to skip.")] = 0,
) -> NextView:
    """Claim your next submission to review for 10 minutes. During that time, other reviewers get other submissions
    first, but they can still review it. Reviewers and organizers only."""
    state = visible_state(acting, slug)
    access.require_reviewer(state, acting.actor)
    claimed = review_queue.claim_next(acting, state, skip=skip)
    if claimed is None:
        return NextView(entry=None, skip=skip, claimed_until=None)
    entry = FlaggedView.model_validate(claimed.entry)
    return NextView(entry=entry, skip=claimed.skip, claimed_until=acting.now + review_queue.CLAIM_TIME)


@router.get("/submissions/{submission_id}/review")
def show(submission_id: str, acting: ActingReviewer, images: ZipImages) -> ReviewEntryView:
    """Get a submission with everything that a reviewer needs. Other people's reviews are included once no more
    reviews are accepted."""
    submission = access.find_for_review(acting.session, submission_id, acting.actor)
    state = load_state(acting.session, submission.competition.slug, acting.now)
    return entry_view(
        acting.session,
        state,
        submission,
        reviewer=acting.actor,
        pairs=closest_pairs.load_entry_pairs(acting.session, images, submission, account=acting.actor),
    )


@router.post("/submissions/{submission_id}/reviews", status_code=201)
def review(submission_id: str, body: NewReview, acting: ActingReviewer) -> OpinionsView:
    """Review a submission with a label, an intent and a note. You can replace your review until another person has
    also reviewed the submission. If both agree, their label is decided; if not, an organizer decides."""
    opinions = reviews.review(acting, submission_id, **body.model_dump())
    return opinions_view(access.find_for_review(acting.session, submission_id, acting.actor), opinions)


@router.get("/submissions/{submission_id}/pairs/{kind}", response_class=Response, responses=PICTURE)
def sheet(submission_id: str, kind: TrackKind, request: Request, acting: ActingReader, images: ZipImages) -> Response:
    """Get the closest pairs of a track in one PNG: generated images in the upper row, each above its nearest reference
    image (mirrored if that matches better). For reviewers and organizers. The submission's team sees the public
    track's pairs after a ruling, or after the deadline if the submission is penalised on that track. It sees the
    private track's pairs once a board is published, if the submission is penalised on that track."""
    submission, measurement = closest_pairs.require_visible_pairs(acting, submission_id, kind)
    etag = compute_etag(measurement.id, is_organizer(acting.actor, submission.competition_id))

    def draw() -> bytes:
        pairs = closest_pairs.load_pairs(
            acting.session, images, submission, kind=kind, measurement=measurement, account=acting.actor
        )
        return closest_pairs.pairs_sheet(pairs)

    return picture_response(request, etag, draw)


@router.get(
    "/submissions/{submission_id}/shared-images/{other_ref}",
    response_class=Response,
    responses=file_answer("image/png"),
)
def shared_images_sheet(
    submission_id: str,
    other_ref: Annotated[int, Path(ge=1, le=2**63 - 1)],
    session: DbSession,
    images: ZipImages,
    reviewer: Reviewer,
) -> Response:
    """Get some images that a submission shares with another team's, in one PNG: its own in the upper row, each above
    the other submission's image (mirrored if that matches better). Reviewers and organizers only."""
    submission = access.find_for_review(session, submission_id, reviewer)
    picture = closest_pairs.shared_images_sheet(session, images, submission, other_ref=other_ref)
    return Response(picture, media_type="image/png", headers=UNSTORED_IMAGE_HEADERS)


labels = ApiRouter(tags=["reviews"])


@labels.put("/competitions/{slug}/submissions/{submission_id}/label")
def decide(slug: str, submission_id: str, body: NewLabel, acting: ActingOrganizer) -> LabelView:
    """Set the decided label of a submission. A later label replaces it; repeating the same label changes nothing.
    Organizers only."""
    state = load_state(acting.session, slug, acting.now)
    label = reviews.decide(acting, state, submission_id, **body.model_dump())
    return LabelView(submission_id=submission_id, label=body.label, note=label.note, created_at=label.created_at)


@labels.put("/submissions/{submission_id}/early-label")
def label_early(submission_id: str, body: NewEarlyLabel, acting: ActingOrganizer) -> EarlyLabelView:
    """Give a submission an early label for comparing extractors. The newest early label counts. It never becomes a
    decision. Organizers only."""
    label = reviews.record_early_label(acting, submission_id, body.label)
    return EarlyLabelView.model_validate(label)
