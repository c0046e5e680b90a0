"""Passkeys of an authenticator in software. A passkey is for one site and account; a challenge works once."""

import hashlib
import json
import secrets
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Any

import cbor2
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from tests.api.accounts.grace import GOOD, SETUP, browse, second_step, sign_in, signed_in
from tests.api.conftest import Service, refused

SITE, ORIGIN = "127.0.0.1", "http://127.0.0.1:8000"
PRESENT, VERIFIED, HAS_CREDENTIAL = 0x01, 0x04, 0x40
"""Flags of authenticator data (WebAuthn, section 6.1)."""


def coded(data: bytes) -> str:
    """Encode bytes as in WebAuthn's JSON."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class Authenticator:
    """A passkey and the number of its signatures."""

    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    count: int = 0

    def made(self, challenge: str, *, origin: str = ORIGIN, site: str = SITE) -> str:
        """Return the response that registers the passkey."""
        point = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
        credential = bytes(16) + struct.pack(">H", len(self.id)) + self.id + cbor2.dumps(public)
        data = self._data(site, PRESENT | VERIFIED | HAS_CREDENTIAL) + credential
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", challenge, origin)
        return self._answer({"clientDataJSON": coded(client), "attestationObject": coded(attestation)})

    def used(self, challenge: str, *, origin: str = ORIGIN, site: str = SITE) -> str:
        """Return the response that signs in with the passkey."""
        self.count += 1
        data, client = self._data(site, PRESENT | VERIFIED), self._client("webauthn.get", challenge, origin)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        parts = {"authenticatorData": data, "clientDataJSON": client, "signature": signature}
        return self._answer({name: coded(part) for name, part in parts.items()})

    def _data(self, site: str, flags: int) -> bytes:
        return hashlib.sha256(site.encode()).digest() + struct.pack(">BI", flags, self.count)

    @staticmethod
    def _client(kind: str, challenge: str, origin: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": origin}).encode()

    def _answer(self, response: dict[str, str]) -> str:
        return json.dumps({"id": coded(self.id), "rawId": coded(self.id), "type": "public-key", "response": response})


def registration_challenge(service: Service, csrf: str) -> str:
    """Request the challenge for a new passkey."""
    asked = browse(service, "POST", f"{SETUP}/passkey-options", csrf, json={"password": GOOD})
    challenge: str = asked.json()["challenge"]
    return challenge


def add(service: Service, csrf: str, answer: str) -> Any:
    return browse(service, "POST", f"{SETUP}/passkeys", csrf, json={"credential": answer, "name": "Key"})


def sign_in_challenge(service: Service) -> str:
    """Take the first step and request the challenge of the second."""
    assert sign_in(service).json()["second_factor"] is True
    challenge: str = browse(service, "POST", "/session/passkey-options").json()["challenge"]
    return challenge


@pytest.fixture
def passkey(service: Service) -> Authenticator:
    made, csrf = Authenticator(), signed_in(service)
    assert add(service, csrf, made.made(registration_challenge(service, csrf))).status_code == 204
    return made


def test_a_passkey_is_the_second_step(service: Service, passkey: Authenticator) -> None:
    for _ in range(2):
        assert second_step(service, passkey=passkey.used(sign_in_challenge(service))).status_code == 201
        assert browse(service, "GET", "/me").json()["handle"] == "grace"


def test_a_passkey_must_be_created_for_this_site(service: Service) -> None:
    csrf = signed_in(service)
    for elsewhere in ({"origin": "https://kennel.example.org"}, {"site": "example.org"}):
        answer = Authenticator().made(registration_challenge(service, csrf), **elsewhere)
        refused(add(service, csrf, answer), 422, "bad-passkey")
    refused(add(service, csrf, Authenticator().made(coded(secrets.token_bytes(64)))), 422, "bad-passkey")
    assert browse(service, "GET", SETUP).json()["factors"] == []


def test_a_passkey_must_be_used_at_this_site(service: Service, passkey: Authenticator) -> None:
    for elsewhere in ({"origin": "https://kennel.example.org"}, {"site": "example.org"}):
        refused(
            second_step(service, passkey=passkey.used(sign_in_challenge(service), **elsewhere)), 401, "wrong-passkey"
        )
    sign_in_challenge(service)
    refused(second_step(service, passkey=passkey.used(coded(secrets.token_bytes(64)))), 401, "wrong-passkey")


def test_a_failed_attempt_uses_up_the_challenge(service: Service, passkey: Authenticator) -> None:
    answer = passkey.used(sign_in_challenge(service))
    refused(second_step(service, passkey="{}"), 401, "wrong-passkey")
    refused(second_step(service, passkey=answer), 422, "no-challenge")


def test_one_password_adds_one_passkey(service: Service) -> None:
    """Someone who uses the browser later cannot add another passkey with the old challenge."""
    csrf = signed_in(service)
    challenge = registration_challenge(service, csrf)
    assert urlsafe_b64decode(challenge + "==")
    assert add(service, csrf, Authenticator().made(challenge)).status_code == 204
    refused(add(service, csrf, Authenticator().made(challenge)), 422, "no-challenge")


def test_passkeys_of_others_are_refused(service: Service, passkey: Authenticator) -> None:
    others, csrf = Authenticator(), signed_in(service, handle="mallory", email="m@example.org")
    assert add(service, csrf, others.made(registration_challenge(service, csrf))).status_code == 204
    refused(second_step(service, passkey=others.used(sign_in_challenge(service))), 401, "wrong-passkey")
    forged = Authenticator(id=passkey.id)
    refused(second_step(service, passkey=forged.used(sign_in_challenge(service))), 401, "wrong-passkey")


def test_a_copied_passkey_that_signs_later_is_refused(service: Service, passkey: Authenticator) -> None:
    copy = Authenticator(passkey.id, passkey.key, passkey.count)
    for _ in range(2):
        assert second_step(service, passkey=passkey.used(sign_in_challenge(service))).status_code == 201
    refused(second_step(service, passkey=copy.used(sign_in_challenge(service))), 401, "wrong-passkey")
