"""Human ratings: the organizers' page of studies, and the page where people rate, which works without scripts."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Depends, Request
from fastapi.responses import Response
from pydantic import ValidationError
from sqlalchemy.orm import Session

from api.http import session_cookies
from api.http.dependencies import (
    ActingOrganizer,
    AppSettings,
    DbSession,
    KnownViewer,
    Now,
    RowId,
    SignedIn,
    Viewer,
)
from api.http.forms import Fields, FormFields, refusal_on, text
from api.http.routing import Router
from api.insights.human_ratings.seats import RATE_PATH, new_rater_secret, rater_by_link, rater_by_role, rating_link
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.competitions import competition_state
from scorer.db.human_ratings import count_ratings_by_kind, raters
from scorer.db.tables import Rater
from scorer.errors import Invalid
from scorer.insights import human_ratings
from scorer.insights.human_ratings import RatingKind, StudySpec
from scorer.lifecycle import STAGES

router = Router(include_in_schema=False)
NUMBER_FIELDS = ("teams", "images", "grids", "side", "wanted")
MAX_NAME_LENGTH = 100
DONE_MESSAGES = {
    "started": "Study created. It opens when its images are ready. This page shows the progress.",
    "ended": "Study ended. Its ratings are kept.",
    "dismissed": "Rater dismissed. Their ratings are kept.",
}


@router.api_route("/competitions/{slug}/ratings", methods=["GET", "HEAD"])
def list_studies(slug: str, acting: ActingOrganizer, viewer: SignedIn, done: str = "") -> Response:
    return _page(acting, slug, viewer, done=DONE_MESSAGES.get(done))


def _page(acting: Acting, slug: str, viewer: Viewer, *, link: str | None = None, **outcome: Any) -> Response:
    session = acting.session
    state = competition_state.load_state(session, slug, acting.now)
    standings = human_ratings.list_studies(session, state)
    fields = StudySpec.model_fields
    return render_page(
        "insights/human_ratings/show.html",
        headers={"Cache-Control": "no-store"},
        viewer=viewer,
        state=state,
        standings=[
            (status, *human_ratings.mean_ratings(session, status.study), raters(session, status.study.id))
            for status in standings
        ],
        stages=STAGES,
        kinds=human_ratings.RATING_KINDS,
        numbers={name: fields[name].default for name in NUMBER_FIELDS},
        max_length=MAX_NAME_LENGTH,
        now=acting.now,
        link=link,
        **outcome,
    )


@router.post("/competitions/{slug}/ratings")
def start_study(slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    with refusal_on(_page, acting, slug, viewer, place="new"):
        human_ratings.start_study(acting, state, _parse_study_spec(fields), seed=secrets.randbits(62))
    return see_other(f"/competitions/{slug}/ratings?done=started")


def _parse_study_spec(fields: Fields) -> StudySpec:
    numbers: dict[str, Any] = {
        name: value for name in NUMBER_FIELDS if (value := text(fields, name, max_length=9).strip())
    }
    chosen = text(fields, "submissions", max_length=50_000).split()
    try:
        return StudySpec(**numbers, submissions=chosen or None)
    except ValidationError as error:
        faults = [f"{fault['loc'][0]}: {fault['msg']}" for fault in error.errors()]
        raise Invalid("bad-study", f"Some settings of the study are invalid: {'; '.join(faults)}.") from None


@router.post("/competitions/{slug}/ratings/{study_id}/raters")
def invite_rater(
    slug: str, study_id: RowId, fields: FormFields, acting: ActingOrganizer, settings: AppSettings, viewer: SignedIn
) -> Response:
    """Create a link for one rater; only this response shows it."""
    study = human_ratings.find_study(acting, slug, study_id)
    secret = new_rater_secret()
    name = text(fields, "name", max_length=MAX_NAME_LENGTH)
    with refusal_on(_page, acting, slug, viewer, place=study_id):
        rater = human_ratings.invite_rater(acting, study, name, secret=secret)
    link = rating_link(secret, settings)
    return _page(acting, slug, viewer, status=201, link=link, place=study_id, invited=rater.name)


@router.post("/competitions/{slug}/ratings/{study_id}/raters/{rater_id}/dismissal")
def dismiss_rater(slug: str, study_id: RowId, rater_id: RowId, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    study = human_ratings.find_study(acting, slug, study_id)
    human_ratings.dismiss(acting, study, rater_id)
    return see_other(f"/competitions/{slug}/ratings?done=dismissed")


@router.post("/competitions/{slug}/ratings/{study_id}/end")
def end_study(slug: str, study_id: RowId, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    study = human_ratings.find_study(acting, slug, study_id)
    human_ratings.end(acting, study)
    return see_other(f"/competitions/{slug}/ratings?done=ended")


@dataclass(frozen=True)
class RatingContext:
    """A rater, the path of their page and API, and the signed-in viewer (None with a rating link)."""

    rater: Rater
    path: str
    viewer: Viewer | None


def rating_context_by_role(
    study_id: RowId, rater: Annotated[Rater, Depends(rater_by_role)], viewer: KnownViewer
) -> RatingContext:
    return RatingContext(rater, f"/ratings/{study_id}", viewer)


def rating_context_by_link(rater: Annotated[Rater, Depends(rater_by_link)]) -> RatingContext:
    """A rater with a rating link; a signed-in session is ignored."""
    return RatingContext(rater, RATE_PATH, None)


RatingByRole = Annotated[RatingContext, Depends(rating_context_by_role)]
RatingByLink = Annotated[RatingContext, Depends(rating_context_by_link)]


@router.api_route("/ratings/{study_id}", methods=["GET", "HEAD"])
def show_rating_by_role(context: RatingByRole, session: DbSession, kind: RatingKind | None = None) -> Response:
    return _rating_page(session, context, kind)


@router.api_route(RATE_PATH, methods=["GET", "HEAD"])
def show_rating_by_link(
    secret: Annotated[str | None, Depends(session_cookies.rater_secret)],
    session: DbSession,
    kind: RatingKind | None = None,
) -> Response:
    """The next item to rate for a rater with a link, or the form for the link if the browser has no valid one."""
    if secret is None:
        return _rating_link_form()
    with refusal_on(_rating_link_form):
        rater = human_ratings.find_rater_by_secret(session, secret)
    return _rating_page(session, rating_context_by_link(rater), kind)


@router.post(f"{RATE_PATH}/link")
def open_rating_link(request: Request, fields: FormFields, session: DbSession) -> Response:
    """Let this browser rate: the link's secret becomes a cookie."""
    secret = text(fields, "link").strip()
    with refusal_on(_rating_link_form):
        human_ratings.find_rater_by_secret(session, secret)
    response = see_other(RATE_PATH)
    session_cookies.set_cookie(response, request, session_cookies.RATER_COOKIE, value=secret, lifetime=None)
    return response


def _rating_link_form(**outcome: Any) -> Response:
    headers = {"Cache-Control": "no-store"}
    return render_page("insights/human_ratings/rating_link.html", headers=headers, show_account_nav=False, **outcome)


def _rating_page(session: Session, context: RatingContext, kind: RatingKind | None) -> Response:
    study = context.rater.study
    counts = zip(human_ratings.RATING_KINDS, (study.images, study.grids), strict=True)
    kinds = [rated for rated, count in counts if count]
    kind = kind if kind in kinds else kinds[0]
    items = human_ratings.next_items(session, context.rater, kind, limit=1)
    return render_page(
        "insights/human_ratings/rate.html",
        headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"},
        viewer=context.viewer,
        show_account_nav=False,
        here=context.path,
        kind=kind,
        kinds=kinds,
        item=items[0] if items else None,
        rated=count_ratings_by_kind(session, context.rater.id).get(kind, 0),
        side=study.side,
        title=study.competition.title,
    )


@router.post("/ratings/{study_id}")
def save_rating_by_role(context: RatingByRole, fields: FormFields, session: DbSession, now: Now) -> Response:
    return _save_rating(session, context, fields, now=now)


@router.post(RATE_PATH)
def save_rating_by_link(context: RatingByLink, fields: FormFields, session: DbSession, now: Now) -> Response:
    return _save_rating(session, context, fields, now=now)


def _save_rating(session: Session, context: RatingContext, fields: Fields, *, now: datetime) -> Response:
    item, value, kind = (text(fields, name, max_length=18) for name in ("item", "value", "kind"))
    if not (item.isdecimal() and value.isdecimal()) or kind not in human_ratings.RATING_KINDS:
        raise Invalid("bad-rating", "The rating is invalid. Choose a number from 1 to 5.")
    human_ratings.rate(session, context.rater, {int(item): int(value)}, now=now)
    return see_other(f"{context.path}?kind={kind}")
