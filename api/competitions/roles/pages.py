"""The organizers and reviewers of a competition: the organizers' page, and the page where a person accepts a role."""

from typing import Any, get_args

from fastapi.responses import Response

from api.http.dependencies import ActingKnownViewer, ActingOrganizer, ActingSignedIn, KnownViewer, SignedIn, Viewer
from api.http.forms import FormFields, read_choice, refusal_on, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.acting import Acting
from scorer.competitions import competition_roles
from scorer.competitions.competition_roles import RoleName
from scorer.competitions.competition_state import load_state
from scorer.db.competition_roles import current_roles

router = Router(prefix="/competitions/{slug}", include_in_schema=False)
DONE_MESSAGES = {
    "offered": "Role offered. The person gets the role when they accept it.",
    "ended": "Role ended.",
    "accepted": "Role accepted.",
}


@router.api_route("/people", methods=["GET", "HEAD"])
def show_people(slug: str, acting: ActingOrganizer, viewer: KnownViewer, done: str = "") -> Response:
    return _people(acting, slug, viewer, done=DONE_MESSAGES.get(done))


def _people(acting: Acting, slug: str, viewer: Viewer, *, handle: str = "", **outcome: Any) -> Response:
    state = load_state(acting.session, slug, acting.now)
    return render_page(
        "competitions/roles/show.html",
        viewer=viewer,
        state=state,
        people=current_roles(acting.session, state.competition.id),
        roles=get_args(RoleName),
        handle=handle,
        now=acting.now,
        **outcome,
    )


@router.post("/people")
def offer_role(slug: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    handle = text(fields, "handle")
    with refusal_on(_people, acting, slug, viewer, handle=handle):
        role = read_choice(fields, "role", RoleName, message="Choose a role.")
        competition_roles.offer(acting, load_state(acting.session, slug, acting.now), handle, role=role)
    return see_other(f"/competitions/{slug}/people?done=offered")


@router.post("/people/{handle}/end")
def end_role(slug: str, handle: str, fields: FormFields, acting: ActingOrganizer, viewer: SignedIn) -> Response:
    with refusal_on(_people, acting, slug, viewer):
        competition_roles.end(acting, slug, handle)
    return see_other(
        f"/competitions/{slug}" if handle == acting.actor.handle else f"/competitions/{slug}/people?done=ended"
    )


@router.api_route("/role", methods=["GET", "HEAD"])
def show_own_role(slug: str, acting: ActingKnownViewer, viewer: KnownViewer, done: str = "") -> Response:
    return _own_role(acting, slug, viewer, done=DONE_MESSAGES.get(done))


def _own_role(acting: Acting, slug: str, viewer: Viewer, **outcome: Any) -> Response:
    state, role = competition_roles.offer_to(acting, slug)
    return render_page("competitions/roles/role.html", viewer=viewer, state=state, role=role, now=acting.now, **outcome)


@router.post("/role")
def answer_offer(slug: str, fields: FormFields, acting: ActingSignedIn, viewer: SignedIn) -> Response:
    """Accept the offered role; with ``accept=no``, decline it or give up the current role."""
    accepted = text(fields, "accept") == "yes"
    with refusal_on(_own_role, acting, slug, viewer):
        if accepted:
            competition_roles.accept(acting, slug)
        else:
            competition_roles.end(acting, slug, viewer.account.handle)
    return see_other(f"/competitions/{slug}/role?done=accepted" if accepted else "/")
