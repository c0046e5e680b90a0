"""Roles in a competition: organizers and reviewers."""

from api.competitions.views import OfferedRole, RolePage, RoleView
from api.http.dependencies import ActingKnownViewer, ActingOrganizer, ActingReader, ActingSubmitter, KnownViewer
from api.http.paging import Paging
from api.http.routing import ApiRouter
from scorer.accounts import api_tokens
from scorer.competitions import competition_roles
from scorer.competitions.competition_state import load_state
from scorer.db.competition_roles import current_roles
from scorer.db.tables import CompetitionRole

router = ApiRouter(prefix="/competitions/{slug}", tags=["competitions"])


@router.get("/roles")
def index(slug: str, acting: ActingOrganizer, wanted: Paging) -> RolePage:
    """List the organizers and reviewers of the competition and the open offers, oldest first. Organizers only."""
    state = load_state(acting.session, slug, acting.now)
    page = wanted.slice_all(current_roles(acting.session, state.competition.id))
    return RolePage(roles=[_view(slug, role) for role in page.rows], next_after=page.next_after)


@router.put("/roles/{handle}")
def offer(slug: str, handle: str, body: OfferedRole, acting: ActingOrganizer) -> RoleView:
    """Offer a person a role, or a different role. They are notified, and get the role when they accept it. The request
    fails with 409 if the person has been in a team of the competition. Organizers only."""
    state = load_state(acting.session, slug, acting.now)
    return _view(slug, competition_roles.offer(acting, state, handle, role=body.role))


@router.delete("/roles/{handle}", status_code=204)
def end(slug: str, handle: str, acting: ActingOrganizer) -> None:
    """End a person's role, or withdraw the offer. A person who has accepted the role still can't enter the competition.
    Organizers only."""
    competition_roles.end(acting, slug, handle)


@router.get("/role")
def show_own(slug: str, acting: ActingReader) -> RoleView:
    """Get your role or offered role in the competition."""
    return _view(slug, competition_roles.offer_to(acting, slug)[1])


@router.put("/role")
def accept(slug: str, acting: ActingSubmitter) -> RoleView:
    """Accept the role that you are offered. You can then see private scores and the code of all teams, and can never
    enter this competition."""
    return _view(slug, competition_roles.accept(acting, slug))


@router.delete("/role", status_code=204)
def decline(slug: str, acting: ActingKnownViewer, viewer: KnownViewer) -> None:
    """Decline the role that you are offered (scope `submit`), or give up your role (scope `organize`)."""
    _, role = competition_roles.offer_to(acting, slug)
    api_tokens.require_scope(viewer.scopes, "submit" if role.accepted_at is None else "organize")
    competition_roles.end(acting, slug, acting.actor.handle)


def _view(slug: str, role: CompetitionRole) -> RoleView:
    return RoleView.of(
        role,
        competition=slug,
        handle=role.account.handle,
        name=role.account.name,
        offered_by=role.author.handle if role.author is not None else None,
    )
