"""The page of a competition's data releases: creating, publishing and downloading them."""

from typing import Any

from fastapi.responses import Response

from api.http.dependencies import ActingOrganizer, ActingVisitor, CurrentViewer, SignedIn, Viewer
from api.http.forms import FormFields, read_choice, refusal_on, text
from api.http.routing import Router
from api.import_export.routes import start_data_release
from api.rendering.templates import render_page, see_other
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.competitions import competition_state
from scorer.db.tables import Account
from scorer.import_export import data_release
from scorer.import_export.data_release import ReleaseImages
from scorer.leaderboard import standings
from scorer.lifecycle import STAGES, UNFINISHED

router = Router(prefix="/competitions/{slug}/release", include_in_schema=False)
DONE_MESSAGES = {
    "started": "Release started. This page shows the progress.",
    "out": "Release published. Everybody can download it while the final board is published.",
    "back": "Release withdrawn. Only organizers can download it.",
}


@router.api_route("", methods=["GET", "HEAD"])
def show_releases(slug: str, acting: ActingVisitor, viewer: CurrentViewer, done: str = "") -> Response:
    return _page(acting, slug, viewer, done=DONE_MESSAGES.get(done))


def _page(acting: Acting[Account | None], slug: str, viewer: Viewer | None, **outcome: Any) -> Response:
    state = standings.visible_state(acting, slug)
    releases = data_release.visible_releases(acting.session, state, acting.actor)
    organizes = is_organizer(acting.actor, state.competition.id)
    return render_page(
        "import_export/show.html",
        viewer=viewer,
        state=state,
        releases=releases,
        working=any(release.state in UNFINISHED for release in releases),
        organizes=organizes,
        times=data_release.packing_times(acting.session, state) if organizes else {},
        stages=STAGES,
        now=acting.now,
        **outcome,
    )


@router.post("")
def start_release(slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    state = competition_state.load_state(acting.session, slug, acting.now)
    new_names = text(fields, "new_names") == "yes"
    with refusal_on(_page, acting, slug, viewer):
        images = read_choice(fields, "images", ReleaseImages, message="Choose the images for the release.")
        start_data_release(acting, state, images, new_names=new_names)
    return see_other(f"/competitions/{slug}/release?done=started")


@router.post("/{release_id}")
def set_release_visibility(
    slug: str, release_id: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn
) -> Response:
    """Publish a release (``act`` is ``out``) or withdraw it."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    published = text(fields, "act") == "out"
    with refusal_on(_page, acting, slug, viewer):
        data_release.set_visibility(acting, state, release_id, shown=published)
    return see_other(f"/competitions/{slug}/release?done={'out' if published else 'back'}")
