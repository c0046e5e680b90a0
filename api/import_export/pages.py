"""A competition's data releases: starting one, its progress, publishing it, downloading it."""

from datetime import datetime
from typing import Any

from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.http.dependencies import Caller, CurrentCaller, DbSession, Now, Organizer, SignedIn, Visitor
from api.http.forms import Fields, FormFields, refusal_on, text
from api.http.routing import Router
from api.import_export.data_releases import start_data_release
from api.rendering.templates import render_page, see_other
from scorer.accounts.roles import is_organizer
from scorer.competitions import competition_state
from scorer.db.tables import Account
from scorer.errors import Invalid
from scorer.import_export import data_release
from scorer.import_export.data_release import ReleaseImages
from scorer.leaderboard import standings
from scorer.lifecycle import STAGES, UNFINISHED

router = Router(prefix="/competitions/{slug}/release", include_in_schema=False)
IMAGE_CHOICES: dict[str, ReleaseImages] = {"none": "none", "ranked": "ranked", "all": "all"}
DONE_MESSAGES = {
    "started": "The release is being made. This page shows how far it is.",
    "out": "Everybody may have this release, as long as the final board is published.",
    "back": "The release is for organizers alone again.",
}


@router.api_route("", methods=["GET", "HEAD"])
def show_releases(
    slug: str, session: DbSession, account: Visitor, viewer: CurrentCaller, now: Now, done: str = ""
) -> Response:
    """The releases that this person may download; organizers start new ones here."""
    return _page(session, slug, account, viewer, now, done=DONE_MESSAGES.get(done))


def _page(
    session: Session,
    slug: str,
    account: Account | None,
    viewer: Caller | None,
    now: datetime,
    *,
    status: int = 200,
    **outcome: Any,
) -> Response:
    state = standings.visible_state(session, slug, account, now)
    releases = data_release.visible_releases(session, state, account)
    organizes = is_organizer(account, state.competition.id)
    return render_page(
        "import_export/show.html",
        status=status,
        viewer=viewer,
        state=state,
        made=releases,
        working=any(release.state in UNFINISHED for release in releases),
        organizes=organizes,
        times=data_release.packing_times(session, state) if organizes else {},
        stages=STAGES,
        now=now,
        **outcome,
    )


@router.post("")
def start_release(
    slug: str, fields: FormFields, session: DbSession, author: Organizer, viewer: SignedIn, now: Now
) -> Response:
    """Start a release: a worker makes it."""
    state = competition_state.state_of(session, slug, now)
    new_names = text(fields, "new_names") == "yes"
    with refusal_on(_page, session, slug, author, viewer, now):
        start_data_release(session, state, _images_of(fields), new_names=new_names, author=author, now=now)
    return see_other(f"/competitions/{slug}/release?done=started")


def _images_of(fields: Fields) -> ReleaseImages:
    images = IMAGE_CHOICES.get(text(fields, "images"))
    if images is None:
        raise Invalid("bad-images", "Choose whose images shall be in it.")
    return images


@router.post("/{release_id}")
def hand_out_release(
    slug: str, release_id: str, fields: FormFields, session: DbSession, author: Organizer, viewer: SignedIn, now: Now
) -> Response:
    """Publish a release (the field ``act`` is ``out``), or withdraw it."""
    state = competition_state.state_of(session, slug, now)
    published = text(fields, "act") == "out"
    with refusal_on(_page, session, slug, author, viewer, now):
        data_release.hand_out(session, state, release_id, shown=published, author=author, now=now)
    return see_other(f"/competitions/{slug}/release?done={'out' if published else 'back'}")
