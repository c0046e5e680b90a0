"""Second factors for signing in: one-time codes (TOTP, RFC 6238), passkeys, recovery codes.

A key for codes or a passkey sets up the second factor. Each recovery code replaces either of them once.
"""

import hmac
import secrets
from base64 import b32encode
from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import pyotp
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.accounts.accounts import notify_owner
from scorer.accounts.roles import organizes_any
from scorer.acting import Acting
from scorer.db import accounts
from scorer.db.tables import Account, SecondFactor, WebSession
from scorer.errors import Conflict, Invalid, NotFound, Unauthenticated
from scorer.identifiers import hash_secret

Policy = Literal["nobody", "admins", "organizers", "everybody"]
STEP_SECONDS = 30
CLOCK_STEPS = 1
"""Steps that a phone's clock may be early or late."""
MAX_FACTORS = 10
RECOVERY_CODES = 10
RECOVERY_BYTES = 10
"""Bytes of a recovery code: 80 random bits, 16 letters."""
ADDED = """A second factor for signing in was added to your Kennel account {handle}.

If this was not you, set a new password immediately and write to the organizers.
"""
REMOVED = """A second factor for signing in was removed from your Kennel account {handle}.

If this was not you, set a new password immediately and write to the organizers.
"""


def is_required(account: Account, policy: Policy) -> bool:
    """Whether the operator's policy requires a second factor of the account."""
    is_admin = account.role == "admin"
    required = {"nobody": False, "admins": is_admin, "organizers": is_admin or organizes_any(account)}
    return policy == "everybody" or required[policy]


def is_missing(session: Session, account: Account, policy: Policy) -> bool:
    return is_required(account, policy) and not is_set_up(session, account)


def is_set_up(session: Session, account: Account) -> bool:
    return bool(list_factors(session, account))


def list_factors(session: Session, account: Account, *, lock: bool = False) -> Sequence[SecondFactor]:
    """Return an account's keys for codes and its passkeys, oldest first."""
    return accounts.load_second_factors(session, account.id, ("totp", "passkey"), lock=lock)


def count_recovery_codes(session: Session, account: Account) -> int:
    """Count an account's unused recovery codes."""
    return len(accounts.load_second_factors(session, account.id, ("recovery_code",)))


def new_totp_key(web_session: WebSession) -> str:
    """Return a random key for codes: 160 bits in base32. Only the newest key of a session can be set up."""
    web_session.totp_key = pyotp.random_base32()
    return web_session.totp_key


def totp_address(key: str, account: Account) -> str:
    """Return the ``otpauth://`` address for adding a key to an authenticator."""
    return pyotp.TOTP(key).provisioning_uri(name=account.handle, issuer_name="Kennel")


def add_totp(session: Session, web_session: WebSession, key: str, *, code: str, now: datetime) -> None:
    """Set up codes with the key of :func:`new_totp_key` if ``code`` proves that the authenticator has the key.

    ``Conflict`` if they are set up already, ``Invalid`` for another key or a wrong code.
    """
    account = web_session.account
    factors = list_factors(session, account, lock=True)
    if any(factor.kind == "totp" for factor in factors):
        raise Conflict("totp-exists", "One-time codes are already set up. Remove them first.")
    if key != web_session.totp_key:
        raise Invalid("stale-key", "A newer key has replaced this one. Add the newest key to your authenticator app.")
    step = _find_step(key, code, now)
    if step is None:
        raise Invalid("wrong-code", "The code is wrong. Enter the code that your authenticator app shows now.")
    web_session.totp_key = None
    factor = SecondFactor(kind="totp", name="Authenticator", secret=key.encode(), counter=step)
    add(Acting(session, account, now), factor)


def add(acting: Acting, factor: SecondFactor) -> None:
    """Add a factor to an account; ``Conflict`` if it has too many."""
    accounts.lock_account(acting.session, acting.actor.id)
    if len(list_factors(acting.session, acting.actor)) >= MAX_FACTORS:
        raise Conflict(
            "too-many-factors", f"You have {MAX_FACTORS} second factors, which is the limit. Remove one first."
        )
    factor.account_id, factor.created_at = acting.actor.id, acting.now
    acting.session.add(factor)
    acting.session.flush()
    notify_owner(acting.session, acting.actor, ADDED, now=acting.now)
    subject = f"account:{acting.actor.handle}"
    audit_log.record_action(acting, "second-factor.added", subject, after={"kind": factor.kind})


def use_code(session: Session, account: Account, code: str, *, now: datetime) -> None:
    """Check a code of the account's authenticator, or use up a recovery code.

    ``Unauthenticated`` if the code is wrong or was used before.
    """
    plain = code.replace(" ", "").replace("-", "")
    factors = list_factors(session, account, lock=True)
    for factor in factors:
        step = _find_step(factor.secret.decode(), plain, now) if factor.kind == "totp" else None
        if step is not None and step > factor.counter:
            factor.counter, factor.last_used_at = step, now
            return
    digest = hash_secret(plain.upper())
    for recovery in accounts.load_second_factors(session, account.id, ("recovery_code",), lock=True):
        if hmac.compare_digest(recovery.secret, digest):
            recovery.last_used_at = recovery.ended_at = now
            acting = Acting(session, account, now)
            audit_log.record_action(acting, "recovery-code.used", f"account:{account.handle}")
            return
    raise Unauthenticated("wrong-code", "This code is wrong or was already used. Enter the next one.")


def _find_step(key: str, code: str, now: datetime) -> int | None:
    """Return the time step of ``code``; None if it is not the key's code for a step near ``now``."""
    present = int(now.timestamp()) // STEP_SECONDS
    codes = pyotp.TOTP(key)
    steps = range(present - CLOCK_STEPS, present + CLOCK_STEPS + 1)
    return next((step for step in steps if hmac.compare_digest(codes.generate_otp(step).encode(), code.encode())), None)


def new_recovery_codes(acting: Acting) -> list[str]:
    """Replace the recovery codes; they are shown once and stored as hashes. ``Conflict`` without a second factor."""
    if not is_set_up(acting.session, acting.actor):
        raise Conflict("no-second-factor", "You have no second factor. Set one up before you create recovery codes.")
    accounts.end_second_factors(acting.session, acting.actor.id, ("recovery_code",), now=acting.now)
    codes = [b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode() for _ in range(RECOVERY_CODES)]
    acting.session.add_all(
        SecondFactor(
            account_id=acting.actor.id,
            kind="recovery_code",
            name="",
            secret=hash_secret(code),
            counter=0,
            created_at=acting.now,
        )
        for code in codes
    )
    acting.session.flush()
    audit_log.record_action(acting, "recovery-codes.made", f"account:{acting.actor.handle}")
    return ["-".join(code[start : start + 4] for start in range(0, len(code), 4)) for code in codes]


def remove(acting: Acting, factor_id: int) -> None:
    """Remove one of the account's second factors. Removing the last one also removes the recovery codes.

    ``NotFound`` if the account has no such factor.
    """
    factors = list_factors(acting.session, acting.actor, lock=True)
    chosen = next((factor for factor in factors if factor.id == factor_id), None)
    if chosen is None:
        raise NotFound("no-second-factor-here", "You have no such second factor.")
    chosen.ended_at = acting.now
    if len(factors) == 1:
        accounts.end_second_factors(acting.session, acting.actor.id, ("recovery_code",), now=acting.now)
    notify_owner(acting.session, acting.actor, REMOVED, now=acting.now)
    subject = f"account:{acting.actor.handle}"
    audit_log.record_action(acting, "second-factor.removed", subject, after={"kind": chosen.kind})


def remove_all(acting: Acting[Account | None], account: Account) -> None:
    """Remove all second factors of an account, for an owner who has lost them."""
    accounts.end_second_factors(acting.session, account.id, ("totp", "passkey", "recovery_code"), now=acting.now)
    notify_owner(acting.session, account, REMOVED, now=acting.now)
    audit_log.record_action(acting, "second-factors.removed", f"account:{account.handle}")
