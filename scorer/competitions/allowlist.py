"""The allowlist: the people who may enter a competition by invitation.

Organizers invite by handle or email address. An address means the account that has confirmed it, now or later, so
organizers do not learn which account has the address.
"""

from collections.abc import Callable, Sequence

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts import accounts, one_time_links
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db import competitions
from scorer.db.accounts import account_by_email, account_by_handle
from scorer.db.tables import Account, AllowlistEntry, Competition
from scorer.errors import Forbidden, Invalid, NotFound
from scorer.lifecycle import Phase
from scorer.notifications import notices, outbox
from scorer.notifications.notices import Kind, NoticeText

INVITED = """{author} invites you to enter the competition "{competition}". Only invited people can enter.{opens}"""
MAILED = """Hello,

{invited}

{site}/competitions/{slug}

If you have no account yet, create one within two weeks and confirm this email address. The invitation is only for this
address. Create an account:

{site}/signup#{secret}
"""


def invite_people(
    acting: Acting, state: CompetitionState, wanted: Sequence[str], *, new_secret: Callable[[], str], site: str
) -> None:
    """Add people (handles or email addresses) to the allowlist and notify the new ones.

    ``Invalid``, without adding anybody, if a handle is unknown or an address malformed.
    """
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    invited = {entry.who.lower() for entry in competitions.list_allowlist(acting.session, state.competition.id)}
    added: dict[str, AllowlistEntry] = {}
    for entry in _read(acting, state.competition, wanted):
        if entry.who.lower() not in invited | set(added):
            added[entry.who.lower()] = entry
    acting.session.add_all(added.values())
    acting.session.flush()
    for entry in added.values():
        _notify_invited(acting, state, entry, secret=new_secret(), site=site)
    if added:
        after = {"who": [entry.who for entry in added.values()]}
        audit_log.record_action(acting, "allowlist.invited", _subject(state), after=after)


def withdraw(acting: Acting, state: CompetitionState, who: str) -> None:
    """``NotFound`` if the list has no such handle or address. The person's submissions stay."""
    competitions.lock_competition(acting.session, state.competition.slug, share=False)
    invited = {entry.who.lower(): entry for entry in competitions.list_allowlist(acting.session, state.competition.id)}
    entry = invited.get(who.strip().lower())
    if entry is None:
        raise NotFound("no-allowlist-entry", f"{who.strip()!r} is not on the allowlist.")
    same = {"competition_id": entry.competition_id, "account_id": entry.account_id, "email": entry.email}
    acting.add(AllowlistEntry(**same, invited=False))
    audit_log.record_action(acting, "allowlist.withdrawn", _subject(state), before={"who": entry.who})


def is_invited(session: Session, competition: Competition, account: Account) -> bool:
    return competition.id in may_enter(session, [competition], account)


def may_enter(session: Session, rows: Sequence[Competition], account: Account) -> set[int]:
    """Return the ids of the competitions that are open to everybody or have the account on their allowlist."""
    by_invitation = [competition.id for competition in rows if competition.invitation_only]
    invited = competitions.invited_to(session, by_invitation, account) if by_invitation else set()
    return {competition.id for competition in rows if not competition.invitation_only or competition.id in invited}


def require_invited(session: Session, competition: Competition, account: Account) -> None:
    if is_invited(session, competition, account):
        return
    hint = "" if account.email else " If you were invited by email, confirm that address on your account page first."
    raise Forbidden("not-invited", f"This competition is by invitation only, and you are not invited.{hint}")


def _read(acting: Acting, competition: Competition, wanted: Sequence[str]) -> list[AllowlistEntry]:
    entries = []
    faults = []
    for name in filter(None, map(str.strip, wanted)):
        try:
            who = _who(acting.session, name)
        except Invalid as error:
            faults.append(f"{name}: {error.message}")
            continue
        entries.append(
            AllowlistEntry(
                competition_id=competition.id, invited=True, author_id=acting.actor.id, created_at=acting.now, **who
            )
        )
    if faults:
        raise Invalid(
            "no-such-people", "Nobody was invited, because some handles or addresses are wrong.", faults=faults
        )
    if not entries:
        raise Invalid("nobody", "Enter at least one handle or email address.")
    return entries


def _who(session: Session, name: str) -> dict[str, object]:
    if "@" in name:
        return {"email": accounts.require_email(name).lower()}
    account = account_by_handle(session, name)
    if account is None:
        raise Invalid("no-account", f"No account has the handle {name!r}. Check the spelling.")
    return {"account": account, "account_id": account.id}


def _notify_invited(acting: Acting, state: CompetitionState, entry: AllowlistEntry, *, secret: str, site: str) -> None:
    """Send a notice to a person with an account, otherwise a mail with a sign-up link."""
    competition = state.competition
    account = entry.account or account_by_email(acting.session, entry.email or "")
    opens_at = competition.opens_at if state.phase is Phase.DRAFT else None
    opens = f" The competition and its page open at {opens_at:%Y-%m-%d %H:%M} UTC." if opens_at else ""
    text = INVITED.format(author=acting.actor.name, competition=competition.title, opens=opens)
    subject = f"You are invited to {competition.title}"
    if account is not None:
        notice = NoticeText(Kind.INVITATION, subject, text, f"/competitions/{competition.slug}")
        notices.notify(acting.session, notice, acting.now, accounts=[account.id])
        return
    one_time_links.issue(acting.session, "invitation", secret, email=entry.email, now=acting.now)
    body = MAILED.format(invited=text, site=site, slug=competition.slug, secret=secret)
    expires_at = acting.now + one_time_links.LINK_LIFETIMES["invitation"]
    outbox.queue_mail(acting.session, entry.email or "", subject, body=body, now=acting.now, expires_at=expires_at)


def _subject(state: CompetitionState) -> str:
    return f"competition:{state.competition.slug}"
