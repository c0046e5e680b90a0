"""The allowlist of a competition by invitation: the people who may enter. For organizers."""

from sqlalchemy.orm import Session

from api.competitions.views import AllowlistEntryView, AllowlistPage, NewAllowlistEntries
from api.http.dependencies import ActingOrganizer, AppSettings
from api.http.paging import PageRequest, Paging
from api.http.routing import ApiRouter
from scorer.competitions import allowlist, competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db.competitions import list_allowlist
from scorer.identifiers import new_secret

router = ApiRouter(prefix="/competitions/{slug}/allowlist", tags=["competitions"])


@router.get("")
def index(slug: str, acting: ActingOrganizer, wanted: Paging) -> AllowlistPage:
    """List all invited people, newest invitation first. Organizers only."""
    return _page(acting.session, competition_state.load_state(acting.session, slug, acting.now), wanted)


@router.post("")
def invite(
    slug: str, body: NewAllowlistEntries, acting: ActingOrganizer, settings: AppSettings, wanted: Paging
) -> AllowlistPage:
    """Invite people to enter. They get a notice, or a mail with a sign-up link if they have no account. People who are
    already invited are not notified again. The response lists all invited people. Organizers only."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    allowlist.invite_people(acting, state, body.who, new_secret=new_secret, site=settings.public_url)
    return _page(acting.session, state, wanted)


@router.delete("/{who}", status_code=204)
def withdraw(slug: str, who: str, acting: ActingOrganizer) -> None:
    """Remove an invited handle or email address from the allowlist. The person's submissions stay.
    Organizers only."""
    allowlist.withdraw(acting, competition_state.load_state(acting.session, slug, acting.now), who)


def _page(session: Session, state: CompetitionState, wanted: PageRequest) -> AllowlistPage:
    listed = list_allowlist(session, state.competition.id, before=wanted.after, limit=wanted.one_more)
    page = wanted.slice_following(listed, lambda entry: entry.id)
    views = [
        AllowlistEntryView(who=entry.who, invited_by=entry.author.handle, invited_at=entry.created_at)
        for entry in page.rows
    ]
    return AllowlistPage(allowlist=views, next_after=page.next_after)
