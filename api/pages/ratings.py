"""Quality ratings: the organizers' page about their studies, and the page on which people rate."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response
from pydantic import ValidationError
from sqlalchemy.orm import Session

from api.http.dependencies import AppSettings, Caller, CurrentCaller, DbSession, KnownCaller, Now, Organizer, SignedIn
from api.http.forms import Fields, FormFields, text
from api.http.problem_details import status_of
from api.rendering.templates import render_page, see_other
from api.routes.ratings import by_link, by_role, new_secret
from scorer.competitions import competition_state
from scorer.db.tables import Rater
from scorer.errors import Invalid, KennelError
from scorer.insights import human_ratings
from scorer.insights.human_ratings import RatingKind, StudySpec
from scorer.lifecycle import STAGES

router = APIRouter(include_in_schema=False)
Id = Annotated[int, Path(ge=1, le=2**62)]
NUMBERS = ("teams", "images", "grids", "side", "wanted")
LONGEST_NAME = 100
DONE = {
    "started": "The study begins as soon as its images are cut. This page shows how far that is.",
    "ended": "The study has ended; its ratings stay.",
    "dismissed": "No more ratings are taken from this rater; what they said stays.",
}


@router.api_route("/competitions/{slug}/ratings", methods=["GET", "HEAD"])
def index(slug: str, session: DbSession, author: Organizer, viewer: SignedIn, now: Now, done: str = "") -> Response:
    """The rating studies of a competition."""
    return _page(session, slug, viewer, now, done=DONE.get(done))


def _page(session: Session, slug: str, viewer: Caller, now: datetime, *, status: int = 200, **told: Any) -> Response:
    state = competition_state.state_of(session, slug, now)
    standings = human_ratings.list_studies(session, state)
    fields = StudySpec.model_fields
    return render_page(
        "ratings.html",
        status=status,
        headers={"Cache-Control": "no-store"},
        viewer=viewer,
        state=state,
        standings=[
            (each, *human_ratings.mean_ratings(session, each.study), human_ratings.raters(session, each.study))
            for each in standings
        ],
        stages=STAGES,
        kinds=human_ratings.RATING_KINDS,
        numbers={name: fields[name].default for name in NUMBERS},
        longest=LONGEST_NAME,
        now=now,
        **{"error": None, "done": None, "link": None, "place": None, **told},
    )


@router.post("/competitions/{slug}/ratings")
def start(slug: str, fields: FormFields, session: DbSession, author: Organizer, viewer: SignedIn, now: Now) -> Response:
    """Begin a study."""
    state = competition_state.state_of(session, slug, now)
    try:
        human_ratings.start_study(session, state, _spec(fields), seed=secrets.randbits(62), author=author, now=now)
    except KennelError as error:
        return _page(session, slug, viewer, now, status=status_of(error), error=error.message, place="new")
    return see_other(f"/competitions/{slug}/ratings?done=started")


def _spec(fields: Fields) -> StudySpec:
    given: dict[str, Any] = {name: value for name in NUMBERS if (value := text(fields, name, longest=9).strip())}
    chosen = text(fields, "submissions", longest=50_000).split()
    try:
        return StudySpec(**given, submissions=chosen or None)
    except ValidationError as error:
        faults = [f"{fault['loc'][0]}: {fault['msg']}" for fault in error.errors()]
        raise Invalid("bad-study", f"Not all numbers are as they should be: {'; '.join(faults)}.") from None


@router.post("/competitions/{slug}/ratings/{study_id}/raters")
def invite(
    slug: str,
    study_id: Id,
    fields: FormFields,
    session: DbSession,
    settings: AppSettings,
    author: Organizer,
    viewer: SignedIn,
    now: Now,
) -> Response:
    """Make a link for one rater and show it, this once."""
    study = human_ratings.find_study(session, competition_state.state_of(session, slug, now), study_id)
    secret = new_secret()
    name = text(fields, "name", longest=LONGEST_NAME)
    try:
        rater = human_ratings.invite_rater(session, study, name, secret=secret, author=author, now=now)
    except KennelError as error:
        return _page(session, slug, viewer, now, status=status_of(error), error=error.message, place=study_id)
    told = {"link": f"{settings.public_url}/rate/{secret}", "place": study_id, "invited": rater.name}
    return _page(session, slug, viewer, now, status=201, **told)


@router.post("/competitions/{slug}/ratings/{study_id}/raters/{rater_id}/dismissal")
def dismiss(
    slug: str, study_id: Id, rater_id: Id, session: DbSession, author: Organizer, viewer: SignedIn, now: Now
) -> Response:
    """Take no more ratings from somebody."""
    study = human_ratings.find_study(session, competition_state.state_of(session, slug, now), study_id)
    human_ratings.dismiss(session, study, rater_id, author=author, now=now)
    return see_other(f"/competitions/{slug}/ratings?done=dismissed")


@router.post("/competitions/{slug}/ratings/{study_id}/end")
def end(slug: str, study_id: Id, session: DbSession, author: Organizer, viewer: SignedIn, now: Now) -> Response:
    """Take no more ratings at all."""
    study = human_ratings.find_study(session, competition_state.state_of(session, slug, now), study_id)
    human_ratings.end(session, study, author=author, now=now)
    return see_other(f"/competitions/{slug}/ratings?done=ended")


@dataclass(frozen=True)
class Seat:
    """Somebody who rates: their page, where its script asks, and what proves its requests."""

    rater: Rater
    here: str
    viewer: Caller | None


def seat_by_role(study_id: Id, rater: Annotated[Rater, Depends(by_role)], viewer: KnownCaller) -> Seat:
    """Somebody who rates by their role."""
    return Seat(rater, f"/ratings/{study_id}", viewer)


def seat_by_link(secret: str, rater: Annotated[Rater, Depends(by_link)]) -> Seat:
    """Whoever holds a link; who else they are does not matter here."""
    return Seat(rater, f"/rate/{secret}", None)


RoleSeat = Annotated[Seat, Depends(seat_by_role)]
LinkSeat = Annotated[Seat, Depends(seat_by_link)]


@router.api_route("/ratings/{study_id}", methods=["GET", "HEAD"])
def rate_by_role(seat: RoleSeat, session: DbSession, kind: RatingKind | None = None) -> Response:
    """The next thing to rate."""
    return _seated(session, seat, kind)


@router.api_route("/rate/{secret}", methods=["GET", "HEAD"])
def rate_by_link(seat: LinkSeat, session: DbSession, kind: RatingKind | None = None) -> Response:
    """The next thing to rate, for whoever holds the link."""
    return _seated(session, seat, kind)


def _seated(session: Session, seat: Seat, kind: RatingKind | None) -> Response:
    study = seat.rater.study
    kinds: list[RatingKind] = [
        each for each, count in zip(get_args(RatingKind), (study.images, study.grids), strict=True) if count
    ]
    kind = kind if kind in kinds else kinds[0]
    found = human_ratings.next_items(session, seat.rater, kind, limit=1)
    return render_page(
        "rate.html",
        headers={"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"},
        viewer=seat.viewer,
        door=False,
        here=seat.here,
        kind=kind,
        kinds=kinds,
        item=found[0] if found else None,
        rated=human_ratings.count_by(session, seat.rater).get(kind, 0),
        side=study.side,
        title=study.competition.title,
    )


@router.post("/ratings/{study_id}")
def keep_by_role(seat: RoleSeat, asking: CurrentCaller, fields: FormFields, session: DbSession, now: Now) -> Response:
    """One rating by the page's form, without a script."""
    return _kept(session, seat, fields, now)


@router.post("/rate/{secret}")
def keep_by_link(seat: LinkSeat, fields: FormFields, session: DbSession, now: Now) -> Response:
    """One rating by the page's form, without a script."""
    return _kept(session, seat, fields, now)


def _kept(session: Session, seat: Seat, fields: Fields, now: datetime) -> Response:
    item, value, kind = (text(fields, name, longest=18) for name in ("item", "value", "kind"))
    if not (item.isdecimal() and value.isdecimal()) or kind not in get_args(RatingKind):
        raise Invalid("bad-rating", "A rating is a number from 1 to 5.")
    human_ratings.rate(session, seat.rater, {int(item): int(value)}, now=now)
    return see_other(f"{seat.here}?kind={kind}")
