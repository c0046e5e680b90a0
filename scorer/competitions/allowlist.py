"""Guests: who may enter a competition that is by invitation. ``invite``, ``withdraw``, ``listed``, ``require_invited``.

A person is invited by handle, or by mail address: then it is whoever has confirmed that address, now or later. So an
organizer does not learn whose address it is, or whether it is anybody's.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts import accounts, one_time_links
from scorer.competitions.competition_state import CompetitionState
from scorer.db import accounts as db_accounts
from scorer.db import competitions
from scorer.db import competitions as rows
from scorer.db.tables import Account, Competition, Guest
from scorer.errors import Forbidden, Invalid, NotFound
from scorer.lifecycle import Phase
from scorer.notifications import notices, outbox

INVITED = """{author} invites you to enter the competition "{competition}", which is by invitation.{opens}"""
MAILED = """Hello,

{invited}

{site}/competitions/{slug}

If you have no account yet, make one here within two weeks, and confirm this address, which is what you are invited by:

{site}/signup?invitation={secret}
"""


def invite_guests(
    session: Session,
    state: CompetitionState,
    wanted: Sequence[str],
    *,
    author: Account,
    new_secret: Callable[[], str],
    site: str,
    now: datetime,
) -> Sequence[Guest]:
    """Let these people (handles or mail addresses) enter and tell them; whoever is invited already is told nothing
    again. ``Invalid``, and nobody is invited, if there is no such handle or address. Returns all who are invited."""
    competitions.lock_competition(session, state.competition.slug, share=False)
    invited = {each.who.lower() for each in rows.list_guests(session, state.competition.id)}
    added: dict[str, Guest] = {}
    for guest in _read(session, state.competition, wanted, author, now):
        if guest.who.lower() not in invited | set(added):
            added[guest.who.lower()] = guest
    session.add_all(added.values())
    session.flush()
    for guest in added.values():
        _notify_guest(session, state, guest, author=author, secret=new_secret(), site=site, now=now)
    if added:
        after = {"who": [guest.who for guest in added.values()]}
        audit_log.record_action(session, "guests.invited", _subject(state), actor=author, now=now, after=after)
    return rows.list_guests(session, state.competition.id)


def withdraw(session: Session, state: CompetitionState, who: str, *, author: Account, now: datetime) -> None:
    """Let somebody enter no more; what they have entered stays. ``NotFound`` if they are not invited by that handle or
    address."""
    competitions.lock_competition(session, state.competition.slug, share=False)
    invited = {each.who.lower(): each for each in rows.list_guests(session, state.competition.id)}
    guest = invited.get(who.strip().lower())
    if guest is None:
        raise NotFound("no-guest", f"Nobody is invited as {who.strip()!r}.")
    same = {"competition_id": guest.competition_id, "account_id": guest.account_id, "email": guest.email}
    session.add(Guest(**same, invited=False, author_id=author.id, created_at=now))
    session.flush()
    audit_log.record_action(
        session, "guest.withdrawn", _subject(state), actor=author, now=now, before={"who": guest.who}
    )


def list_guests(session: Session, state: CompetitionState) -> Sequence[Guest]:
    """Whoever is invited, the one invited last first."""
    return rows.list_guests(session, state.competition.id)


def is_invited(session: Session, competition: Competition, account: Account) -> bool:
    """Whether a person may enter, as far as invitations go."""
    return not competition.invitation_only or rows.is_invited(session, competition.id, account)


def require_invited(session: Session, competition: Competition, account: Account) -> None:
    """``Forbidden`` for somebody who is not invited into a competition that is by invitation."""
    if is_invited(session, competition, account):
        return
    hint = "" if account.email else " If you were invited by mail, confirm that address on your account's page first."
    raise Forbidden("not-invited", f"This competition is by invitation, and you are not invited.{hint}")


def _read(
    session: Session, competition: Competition, wanted: Sequence[str], author: Account, now: datetime
) -> list[Guest]:
    found, faults = [], []
    for each in filter(None, map(str.strip, wanted)):
        try:
            who = _who(session, each)
        except Invalid as error:
            faults.append(f"{each}: {error.message}")
            continue
        found.append(Guest(competition_id=competition.id, invited=True, author_id=author.id, created_at=now, **who))
    if faults:
        raise Invalid("no-such-people", "Nobody was invited: some of these are nobody.", faults=faults)
    if not found:
        raise Invalid("nobody", "Name at least one handle or mail address.")
    return found


def _who(session: Session, each: str) -> dict[str, object]:
    if "@" in each:
        return {"email": accounts.require_email(each).lower()}
    account = db_accounts.account_by_handle(session, each)
    if account is None:
        raise Invalid("no-account", "there is nobody with this handle.")
    return {"account": account, "account_id": account.id}


def _notify_guest(
    session: Session, state: CompetitionState, guest: Guest, *, author: Account, secret: str, site: str, now: datetime
) -> None:
    """By notice whoever has an account; else by mail, with a link to make one."""
    competition = state.competition
    account = guest.account or db_accounts.account_by_email(session, guest.email or "")
    opens_at = competition.opens_at if state.phase is Phase.DRAFT else None
    opens = f" It opens, and has its page, from {opens_at:%Y-%m-%d %H:%M} UTC on." if opens_at else ""
    said = INVITED.format(author=author.name, competition=competition.title, opens=opens)
    subject = f"You are invited to {competition.title}"
    if account is not None:
        link = f"/competitions/{competition.slug}"
        notices.notify(session, account, notices.Kind.INVITATION, subject, said, link, now)
        return
    one_time_links.issue(session, "invitation", secret, email=guest.email, now=now)
    body = MAILED.format(invited=said, site=site, slug=competition.slug, secret=secret)
    expires_at = now + one_time_links.LINK_LIFETIMES["invitation"]
    outbox.queue_mail(session, guest.email or "", subject, body, now=now, expires_at=expires_at)


def _subject(state: CompetitionState) -> str:
    return f"competition:{state.competition.slug}"
