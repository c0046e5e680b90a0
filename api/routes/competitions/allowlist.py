"""Guests: who may enter a competition that is by invitation. For organizers."""

from collections.abc import Iterable

from fastapi import APIRouter

from api.actions.sign_in import new_secret
from api.http.dependencies import AppSettings, DbSession, Now, Organizer
from api.schemas.competitions import GuestView, NewGuests
from scorer.competitions import allowlist, competition_state
from scorer.db.tables import Guest

router = APIRouter(prefix="/competitions/{slug}/guests", tags=["competitions"])


@router.get("")
def index(slug: str, session: DbSession, author: Organizer, now: Now) -> list[GuestView]:
    """Whoever is invited, the one invited last first. Organizers only."""
    return _views(allowlist.list_guests(session, competition_state.state_of(session, slug, now)))


@router.post("")
def invite(
    slug: str, body: NewGuests, session: DbSession, settings: AppSettings, author: Organizer, now: Now
) -> list[GuestView]:
    """Let people enter, and tell them: on the site and by mail, or by mail with a link to sign up. Whoever is invited
    already is told nothing again. Answers with all who are invited. Organizers only."""
    state = competition_state.state_of(session, slug, now)
    found = allowlist.invite_guests(
        session, state, body.who, author=author, new_secret=new_secret, site=settings.public_url, now=now
    )
    return _views(found)


@router.delete("/{who}", status_code=204)
def withdraw(slug: str, who: str, session: DbSession, author: Organizer, now: Now) -> None:
    """Let somebody enter no more, by the handle or address that they are invited by; what they have entered stays.
    Organizers only."""
    allowlist.withdraw(session, competition_state.state_of(session, slug, now), who, author=author, now=now)


def _views(found: Iterable[Guest]) -> list[GuestView]:
    return [GuestView(who=each.who, invited_by=each.author.handle, invited_at=each.created_at) for each in found]
