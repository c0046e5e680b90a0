"""The allowlist: who may enter a competition that is by invitation. For organizers."""

from collections.abc import Iterable

from fastapi import APIRouter

from api.actions.sign_in import new_secret
from api.http.dependencies import AppSettings, DbSession, Now, Organizer
from api.schemas.competitions import GuestView, NewGuests
from scorer.competitions import allowlist, competition_state
from scorer.db.tables import AllowlistEntry

router = APIRouter(prefix="/competitions/{slug}/guests", tags=["competitions"])


@router.get("")
def index(slug: str, session: DbSession, author: Organizer, now: Now) -> list[GuestView]:
    """Everybody who is invited, the last invited first. Organizers only."""
    return _views(allowlist.list_allowlist(session, competition_state.state_of(session, slug, now)))


@router.post("")
def invite(
    slug: str, body: NewGuests, session: DbSession, settings: AppSettings, author: Organizer, now: Now
) -> list[GuestView]:
    """Let people enter, and send them a notice, or a mail with a link to sign up if they have no account. People who
    are invited already get nothing again. Returns everybody who is invited. Organizers only."""
    state = competition_state.state_of(session, slug, now)
    guests = allowlist.invite_people(
        session, state, body.who, author=author, new_secret=new_secret, site=settings.public_url, now=now
    )
    return _views(guests)


@router.delete("/{who}", status_code=204)
def withdraw(slug: str, who: str, session: DbSession, author: Organizer, now: Now) -> None:
    """Remove somebody by the handle or mail address that they are invited by; their entries stay. Organizers only."""
    allowlist.withdraw(session, competition_state.state_of(session, slug, now), who, author=author, now=now)


def _views(guests: Iterable[AllowlistEntry]) -> list[GuestView]:
    return [GuestView(who=each.who, invited_by=each.author.handle, invited_at=each.created_at) for each in guests]
