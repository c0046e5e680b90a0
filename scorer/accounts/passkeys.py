"""Passkeys as second factors: WebAuthn registration and authentication.

Each uses a challenge that works once and is stored in the browser's session.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import webauthn
from sqlalchemy.orm import Session
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import PublicKeyCredentialDescriptor

from scorer.accounts import second_factors
from scorer.acting import Acting
from scorer.db.tables import Account, SecondFactor, WebSession
from scorer.errors import Invalid, Unauthenticated

MAX_CREDENTIAL_LENGTH = 1 << 16
"""Characters of a browser's response."""


@dataclass(frozen=True)
class RelyingParty:
    id: str
    origin: str


def relying_party(public_url: str) -> RelyingParty:
    parts = urlsplit(public_url)
    return RelyingParty(parts.hostname or "", f"{parts.scheme}://{parts.netloc}")


def registration_options(session: Session, web_session: WebSession, party: RelyingParty) -> dict[str, Any]:
    """Return the options for creating a passkey in a browser, as JSON values."""
    account = web_session.account
    options = webauthn.generate_registration_options(
        rp_id=party.id,
        rp_name="Kennel",
        user_id=str(account.id).encode(),
        user_name=account.handle,
        exclude_credentials=_descriptors(session, web_session),
    )
    web_session.challenge = options.challenge
    return _json(webauthn.options_to_json(options))


def register(
    session: Session, web_session: WebSession, credential: str, *, name: str, party: RelyingParty, now: datetime
) -> None:
    """Add a browser's new passkey; ``Invalid`` if it is for another challenge or site."""
    challenge = _require_challenge(web_session.challenge)
    web_session.challenge = None
    try:
        made = webauthn.verify_registration_response(
            credential=credential, expected_challenge=challenge, expected_rp_id=party.id, expected_origin=party.origin
        )
    except (WebAuthnException, ValueError) as error:
        raise Invalid("bad-passkey", "Your browser sent an invalid passkey. Please try again.") from error
    factor = SecondFactor(
        kind="passkey",
        name=name or "Passkey",
        credential_id=made.credential_id,
        secret=made.credential_public_key,
        counter=made.sign_count,
    )
    second_factors.add(Acting(session, web_session.account, now), factor)


def authentication_options(session: Session, web_session: WebSession, party: RelyingParty) -> dict[str, Any]:
    """Return the options for using one of the account's passkeys in a browser, as JSON values."""
    options = webauthn.generate_authentication_options(
        rp_id=party.id, allow_credentials=_descriptors(session, web_session)
    )
    web_session.challenge = options.challenge
    return _json(webauthn.options_to_json(options))


def authenticate(
    session: Session, account: Account, credential: str, *, challenge: bytes | None, party: RelyingParty, now: datetime
) -> None:
    """Check that one of the account's passkeys has signed the ``challenge``; ``Unauthenticated`` if not.

    The caller has removed the challenge from the browser's session.
    """
    challenge = _require_challenge(challenge)
    try:
        answer = webauthn.helpers.parse_authentication_credential_json(credential)
        passkey = next(
            factor
            for factor in second_factors.list_factors(session, account, lock=True)
            if factor.kind == "passkey" and factor.credential_id == answer.raw_id
        )
        used = webauthn.verify_authentication_response(
            credential=answer,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=passkey.secret,
            credential_current_sign_count=passkey.counter,
        )
    except (WebAuthnException, ValueError, StopIteration) as error:
        raise Unauthenticated(
            "wrong-passkey", "This passkey is not valid for your account. Use another one."
        ) from error
    passkey.counter, passkey.last_used_at = used.new_sign_count, now


def _require_challenge(challenge: bytes | None) -> bytes:
    if challenge is None:
        raise Invalid("no-challenge", "This passkey request has expired. Please try again.")
    return challenge


def _descriptors(session: Session, web_session: WebSession) -> list[PublicKeyCredentialDescriptor]:
    factors = second_factors.list_factors(session, web_session.account)
    return [
        PublicKeyCredentialDescriptor(id=factor.credential_id) for factor in factors if factor.credential_id is not None
    ]


def _json(text: str) -> dict[str, Any]:
    options: dict[str, Any] = json.loads(text)
    return options
