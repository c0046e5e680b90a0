"""OpenID Connect identities: accounts of people authenticated by an issuer."""

import itertools
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts import accounts
from scorer.accounts.sign_up import Mode
from scorer.acting import Acting
from scorer.db.accounts import account_by_email, account_by_identity, is_name_taken, lock_names
from scorer.db.tables import Account, Identity
from scorer.errors import Forbidden

LINKED = """Somebody has signed in to your Kennel account {handle} with OpenID Connect for the first time.
The issuer has verified that this email address is theirs.

If this was not you, write to the organizers.
"""
MAX_HANDLE_LENGTH = 30
"""Characters of a handle derived from an issuer's claims. The rest of the allowed length is for a number."""

TENANT = "{tenantid}"
"""Microsoft Entra's placeholder for the tenant if people of several tenants may sign in."""


@dataclass(frozen=True)
class OidcIdentity:
    """An issuer's claims about a person."""

    issuer: str
    subject: str
    email: str | None = None
    """Only if the issuer has verified it."""
    name: str = ""
    handle: str = ""


def is_issuer(named: str, issuer: str) -> bool:
    """Whether the issuer ``named`` by a discovery document is the ``issuer`` of the settings.

    A slash at the end does not count. A placeholder matches one part of the path, such as ``common``.
    """
    pattern = re.escape(named.rstrip("/")).replace(re.escape(TENANT), "[^/]+")
    return re.fullmatch(pattern, issuer) is not None


def account_for(session: Session, person: OidcIdentity, *, mode: Mode, now: datetime) -> Account:
    """Return the account of an authenticated person, or create one.

    The account linked to this identity comes first, then the account with the same verified email address.
    ``Forbidden`` if neither exists and accounts need an invitation.
    """
    lock_names(session)
    linked = account_by_identity(session, person.issuer, person.subject)
    if linked is not None:
        return linked
    account = account_by_email(session, person.email) if person.email else None
    if account is None:
        account = _new_account(session, person, mode=mode, now=now)
    else:
        accounts.notify_owner(session, account, LINKED, now=now)
        subject = f"account:{account.handle}"
        after = {"issuer": person.issuer}
        audit_log.record_action(Acting(session, account, now), "identity.linked", subject, after=after)
    session.add(Identity(account_id=account.id, issuer=person.issuer, subject=person.subject, created_at=now))
    session.flush()
    return account


def _new_account(session: Session, person: OidcIdentity, *, mode: Mode, now: datetime) -> Account:
    if mode == "invitation":
        raise Forbidden("invitation-needed", "You need an invitation to create an account. Ask the organizers for one.")
    handle = _suggest_handle(person)
    numbered = (f"{handle}-{number}" for number in itertools.count(2))
    candidates = itertools.chain([handle], numbered)
    free_handle = next(candidate for candidate in candidates if not is_name_taken(session, candidate))
    name = "".join(character for character in person.name if unicodedata.category(character)[0] != "C").strip()[:100]
    if is_name_taken(session, name):
        name = ""
    account = accounts.create_account(session, handle=free_handle, name=name, role="participant", now=now)
    account.email = person.email
    session.flush()
    return account


def _suggest_handle(person: OidcIdentity) -> str:
    word = person.handle or (person.email or "").partition("@")[0]
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", unicodedata.normalize("NFKC", word))
    plain = plain.lstrip("-_.")[:MAX_HANDLE_LENGTH].rstrip("-_.")
    return plain if accounts.HANDLE_PATTERN.fullmatch(plain) else "person"
