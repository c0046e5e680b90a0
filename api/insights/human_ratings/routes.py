"""Human ratings: the organizers' studies, and the items that people rate."""

import base64
import secrets
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from sqlalchemy.orm import Session

from api.http.dependencies import ActingOrganizer, AppSettings, BlobStore, DbSession, Now, RowId
from api.http.etags import compute_etag, picture_response
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.insights.human_ratings.seats import RATE_PATH, new_rater_secret, rater_by_link, rater_by_role, rating_link
from api.insights.human_ratings.views import (
    BatchView,
    InvitedView,
    ItemView,
    KindView,
    NewRater,
    NewRatings,
    StudyPage,
    StudyView,
)
from api.openapi.files import PICTURE
from scorer.blobs import Blobs
from scorer.competitions import competition_state
from scorer.db.human_ratings import count_ratings_by_kind
from scorer.db.tables import Rater
from scorer.insights import human_ratings
from scorer.insights.human_ratings import MAX_BATCH_LENGTH, RatingKind, StudySpec, StudyStatus
from scorer.lifecycle import JobState

router = ApiRouter(tags=["ratings"])


STUDIES_PATH = "/competitions/{slug}/ratings"


@router.post(STUDIES_PATH, status_code=202)
def start(slug: str, body: StudySpec, acting: ActingOrganizer) -> StudyView:
    """Start a rating study. A worker prepares its images. Organizers only."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    study = human_ratings.start_study(acting, state, body, seed=secrets.randbits(62))
    return _view(human_ratings.study_status(acting.session, study), {})


@router.get(STUDIES_PATH)
def index(slug: str, acting: ActingOrganizer, wanted: Paging) -> StudyPage:
    """List the rating studies of a competition, newest first. Organizers only."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    page = wanted.slice_all(human_ratings.list_studies(acting.session, state))
    return StudyPage(studies=[_view(status, {}) for status in page.rows], next_after=page.next_after)


@router.get(f"{STUDIES_PATH}/{{study_id}}")
def show(slug: str, study_id: RowId, acting: ActingOrganizer) -> StudyView:
    """Get a rating study with its progress, the raters' agreement, and each submission's mean rating and standard
    error. Organizers only."""
    study = human_ratings.find_study(acting, slug, study_id)
    means, agreement = human_ratings.mean_ratings(acting.session, study)
    view = _view(human_ratings.study_status(acting.session, study), agreement)
    view.means = means
    return view


@router.post(f"{STUDIES_PATH}/{{study_id}}/raters", status_code=201)
def invite(slug: str, study_id: RowId, body: NewRater, acting: ActingOrganizer, settings: AppSettings) -> InvitedView:
    """Create a link that lets one person rate without an account. Organizers only."""
    study = human_ratings.find_study(acting, slug, study_id)
    secret = new_rater_secret()
    rater = human_ratings.invite_rater(acting, study, body.name, secret=secret)
    return InvitedView(id=rater.id, name=rater.name, link=rating_link(secret, settings))


@router.put(f"{STUDIES_PATH}/{{study_id}}/ended")
def end(slug: str, study_id: RowId, acting: ActingOrganizer) -> StudyView:
    """End a rating study. It then accepts no more ratings. Organizers only."""
    study = human_ratings.find_study(acting, slug, study_id)
    human_ratings.end(acting, study)
    return _view(human_ratings.study_status(acting.session, study), {})


def _view(status: StudyStatus, agreement: dict[RatingKind, float | None]) -> StudyView:
    study = status.study
    job = status.job
    kinds = [
        KindView(
            kind=kind,
            items=status.totals[kind][0],
            ratings=status.totals[kind][1],
            wanted=status.wanted(kind),
            agreement=agreement.get(kind),
        )
        for kind in human_ratings.RATING_KINDS
        if kind in status.totals
    ]
    return StudyView.of(
        study,
        state=status.state,
        stage=job.stage if job else None,
        fraction=job.fraction if job else None,
        error=job.error if job and status.state == JobState.FAILED else None,
        entries=len(study.submission_refs),
        kinds=kinds,
    )


def _rating_router(prefix: str, rater_dependency: Any) -> ApiRouter:
    """The routes of a rater, for members and for people with a link; ``rater_dependency`` finds the rater."""
    rating = ApiRouter(prefix=prefix, tags=["ratings"])
    AnyRater = Annotated[Rater, Depends(rater_dependency)]  # noqa: N806 - a type

    @rating.get("/items")
    def look(
        rater: AnyRater,
        session: DbSession,
        store: BlobStore,
        kind: RatingKind,
        limit: Annotated[int, Query(ge=1, le=MAX_BATCH_LENGTH)] = 10,
    ) -> BatchView:
        """Get the next items to rate, with their images. No item appears twice."""
        return _batch(session, store, rater, kind=kind, limit=limit, exclude=())

    @rating.post("/items")
    def rate(rater: AnyRater, body: NewRatings, session: DbSession, store: BlobStore, now: Now) -> BatchView:
        """Record ratings and get more items. Repeating a request changes nothing."""
        human_ratings.rate(session, rater, body.ratings, now=now)
        return _batch(session, store, rater, kind=body.kind, limit=body.more, exclude=body.at_hand)

    @rating.get("/items/{item_id}/picture", response_class=Response, responses=PICTURE)
    def picture(item_id: RowId, rater: AnyRater, request: Request, session: DbSession, store: BlobStore) -> Response:
        """Get the image of an item."""
        item = human_ratings.find_item(session, rater, item_id)
        place = item.blob_key, item.start
        return picture_response(request, compute_etag(*place), lambda: store.read_part(*place, item.length))

    return rating


def _batch(session: Session, store: Blobs, rater: Rater, *, kind: RatingKind, limit: int, exclude: Any) -> BatchView:
    items = human_ratings.next_items(session, rater, kind, limit=limit, exclude=exclude) if limit else ()
    views = [
        ItemView(id=item.id, png=base64.b64encode(store.read_part(item.blob_key, item.start, item.length)).decode())
        for item in items
    ]
    return BatchView(items=views, rated=count_ratings_by_kind(session, rater.id).get(kind, 0))


members = _rating_router("/ratings/{study_id}", rater_by_role)
people_with_a_link = _rating_router(RATE_PATH, rater_by_link)
