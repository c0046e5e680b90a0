"""Passkeys as second factors: WebAuthn's registration and authentication, each with a challenge that works once.

The challenge is kept with the browser's session, which has asked for it.
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
"""Characters of a browser's answer."""


@dataclass(frozen=True)
class RelyingParty:
    """The site that passkeys are made for: its host, and its origin as browsers name it."""

    id: str
    origin: str


def relying_party(public_url: str) -> RelyingParty:
    """The relying party of a service's public address."""
    parts = urlsplit(public_url)
    return RelyingParty(parts.hostname or "", f"{parts.scheme}://{parts.netloc}")


def registration_options(session: Session, web_session: WebSession, party: RelyingParty) -> dict[str, Any]:
    """What a browser needs to make a passkey, as JSON values."""
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
    """Add the passkey that a browser has made; ``Invalid`` if it answers another challenge or is for another site."""
    challenge = _require_challenge(web_session.challenge)
    web_session.challenge = None
    try:
        made = webauthn.verify_registration_response(
            credential=credential, expected_challenge=challenge, expected_rp_id=party.id, expected_origin=party.origin
        )
    except (WebAuthnException, ValueError) as error:
        raise Invalid("bad-passkey", "This passkey could not be added; please try again.") from error
    factor = SecondFactor(
        kind="passkey",
        name=name or "Passkey",
        credential_id=made.credential_id,
        secret=made.credential_public_key,
        counter=made.sign_count,
    )
    second_factors.add(Acting(session, web_session.account, now), factor)


def authentication_options(session: Session, web_session: WebSession, party: RelyingParty) -> dict[str, Any]:
    """What a browser needs to use one of the account's passkeys, as JSON values."""
    options = webauthn.generate_authentication_options(
        rp_id=party.id, allow_credentials=_descriptors(session, web_session)
    )
    web_session.challenge = options.challenge
    return _json(webauthn.options_to_json(options))


def authenticate(
    session: Session, account: Account, credential: str, *, challenge: bytes | None, party: RelyingParty, now: datetime
) -> None:
    """Check that a browser has one of the account's passkeys, which signs the ``challenge`` that the caller has taken
    from the browser's session; ``Unauthenticated`` if not."""
    challenge = _require_challenge(challenge)
    try:
        answer = webauthn.helpers.parse_authentication_credential_json(credential)
        passkey = next(
            each
            for each in second_factors.list_factors(session, account, lock=True)
            if each.kind == "passkey" and each.credential_id == answer.raw_id
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
        raise Unauthenticated("wrong-passkey", "This passkey is not one of the account's.") from error
    passkey.counter, passkey.last_used_at = used.new_sign_count, now


def _require_challenge(challenge: bytes | None) -> bytes:
    if challenge is None:
        raise Invalid("no-challenge", "This passkey was not asked for; please try again.")
    return challenge


def _descriptors(session: Session, web_session: WebSession) -> list[PublicKeyCredentialDescriptor]:
    factors = second_factors.list_factors(session, web_session.account)
    return [PublicKeyCredentialDescriptor(id=each.credential_id) for each in factors if each.credential_id is not None]


def _json(text: str) -> dict[str, Any]:
    options: dict[str, Any] = json.loads(text)
    return options
