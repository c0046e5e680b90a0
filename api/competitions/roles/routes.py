"""Roles in a competition: who organizes it and who reviews its entries."""

from api.competitions.views import OfferedRole, RolePage, RoleView
from api.http.dependencies import ActingKnownViewer, ActingOrganizer, ActingReader, ActingSubmitter, KnownViewer
from api.http.paging import Paging
from api.http.routing import ApiRouter
from scorer.accounts import api_tokens
from scorer.competitions import competition_roles
from scorer.competitions.competition_state import state_of
from scorer.db.competition_roles import current_roles
from scorer.db.tables import CompetitionRole

router = ApiRouter(prefix="/competitions/{slug}", tags=["competitions"])


@router.get("/roles")
def index(slug: str, acting: ActingOrganizer, wanted: Paging) -> RolePage:
    """Who organizes and reviews the competition, or is asked to, the first one first. Organizers only."""
    state = state_of(acting.session, slug, acting.now)
    page = wanted.of_all(current_roles(acting.session, state.competition.id))
    return RolePage(roles=[_view(slug, role) for role in page.rows], next_after=page.next_after)


@router.put("/roles/{handle}")
def offer(slug: str, handle: str, body: OfferedRole, acting: ActingOrganizer) -> RoleView:
    """Offer somebody a role, or another one; they get a notice, and have it once they accept. 409 for whoever has been
    in a team here. Organizers only."""
    state = state_of(acting.session, slug, acting.now)
    return _view(slug, competition_roles.offer(acting, state, handle, role=body.role))


@router.delete("/roles/{handle}", status_code=204)
def end(slug: str, handle: str, acting: ActingOrganizer) -> None:
    """End somebody's role, or take back its offer. They still cannot enter if they have accepted it. Organizers
    only."""
    competition_roles.end(acting, slug, handle)


@router.get("/role")
def show_own(slug: str, acting: ActingReader) -> RoleView:
    """The role that you hold or are offered here."""
    return _view(slug, competition_roles.offer_to(acting, slug)[1])


@router.put("/role")
def accept(slug: str, acting: ActingSubmitter) -> RoleView:
    """Accept the role that you are offered: you see private scores and the code of others, and can never enter this
    competition."""
    return _view(slug, competition_roles.accept(acting, slug))


@router.delete("/role", status_code=204)
def decline(slug: str, acting: ActingKnownViewer, viewer: KnownViewer) -> None:
    """Decline the role that you are offered (scope `submit`), or give up the one that you hold (scope `organize`)."""
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
