"""The allowlist: who may enter a competition that is by invitation. For organizers."""

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
    """Everybody who is invited, the last invited first. Organizers only."""
    return _page(acting.session, competition_state.state_of(acting.session, slug, acting.now), wanted)


@router.post("")
def invite(
    slug: str, body: NewAllowlistEntries, acting: ActingOrganizer, settings: AppSettings, wanted: Paging
) -> AllowlistPage:
    """Let people enter, and send them a notice, or a mail with a link to sign up if they have no account. People who
    are invited already get nothing again. Answers as the list of all who are invited. Organizers only."""
    state = competition_state.state_of(acting.session, slug, acting.now)
    allowlist.invite_people(acting, state, body.who, new_secret=new_secret, site=settings.public_url)
    return _page(acting.session, state, wanted)


@router.delete("/{who}", status_code=204)
def withdraw(slug: str, who: str, acting: ActingOrganizer) -> None:
    """Remove somebody by the handle or mail address that they are invited by; their entries stay. Organizers only."""
    allowlist.withdraw(acting, competition_state.state_of(acting.session, slug, acting.now), who)


def _page(session: Session, state: CompetitionState, wanted: PageRequest) -> AllowlistPage:
    listed = list_allowlist(session, state.competition.id, before=wanted.after, limit=wanted.one_more)
    page = wanted.of_following(listed, lambda each: each.id)
    views = [
        AllowlistEntryView(who=each.who, invited_by=each.author.handle, invited_at=each.created_at)
        for each in page.rows
    ]
    return AllowlistPage(allowlist=views, next_after=page.next_after)
