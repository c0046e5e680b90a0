"""Passkeys, of an authenticator in software: each is for one site and one account, each question is asked once."""

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
    """Bytes as WebAuthn's JSON has them."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass
class Authenticator:
    """One passkey, and how many signatures it has made."""

    id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    count: int = 0

    def made(self, challenge: str, *, origin: str = ORIGIN, site: str = SITE) -> str:
        """The answer to a wish for a new passkey."""
        point = self.key.public_key().public_numbers()
        public = {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")}
        credential = bytes(16) + struct.pack(">H", len(self.id)) + self.id + cbor2.dumps(public)
        data = self._data(site, PRESENT | VERIFIED | HAS_CREDENTIAL) + credential
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", challenge, origin)
        return self._answer({"clientDataJSON": coded(client), "attestationObject": coded(attestation)})

    def used(self, challenge: str, *, origin: str = ORIGIN, site: str = SITE) -> str:
        """The answer to the question for the passkey."""
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


def wish(service: Service, csrf: str) -> str:
    """The challenge for a new passkey."""
    asked = browse(service, "POST", f"{SETUP}/passkey-options", csrf, json={"password": GOOD})
    challenge: str = asked.json()["challenge"]
    return challenge


def add(service: Service, csrf: str, answer: str) -> Any:
    """An attempt to add a passkey."""
    return browse(service, "POST", f"{SETUP}/passkeys", csrf, json={"credential": answer, "name": "Key"})


def question(service: Service) -> str:
    """The challenge of the second step, after the first."""
    assert sign_in(service).json()["second_factor"] is True
    challenge: str = browse(service, "POST", "/session/passkey-options").json()["challenge"]
    return challenge


@pytest.fixture
def passkey(service: Service) -> Authenticator:
    """Grace's passkey."""
    made, csrf = Authenticator(), signed_in(service)
    assert add(service, csrf, made.made(wish(service, csrf))).status_code == 204
    return made


def test_a_passkey_is_the_second_step(service: Service, passkey: Authenticator) -> None:
    for _ in range(2):
        assert second_step(service, passkey=passkey.used(question(service))).status_code == 201
        assert browse(service, "GET", "/me").json()["handle"] == "grace"


def test_a_passkey_is_made_for_this_site(service: Service) -> None:
    csrf = signed_in(service)
    for elsewhere in ({"origin": "https://kennel.example.org"}, {"site": "example.org"}):
        answer = Authenticator().made(wish(service, csrf), **elsewhere)
        refused(add(service, csrf, answer), 422, "bad-passkey")
    refused(add(service, csrf, Authenticator().made(coded(secrets.token_bytes(64)))), 422, "bad-passkey")
    assert browse(service, "GET", SETUP).json()["factors"] == []


def test_a_passkey_is_used_at_this_site(service: Service, passkey: Authenticator) -> None:
    for elsewhere in ({"origin": "https://kennel.example.org"}, {"site": "example.org"}):
        refused(second_step(service, passkey=passkey.used(question(service), **elsewhere)), 401, "wrong-passkey")
    question(service)
    refused(second_step(service, passkey=passkey.used(coded(secrets.token_bytes(64)))), 401, "wrong-passkey")


def test_a_failed_attempt_uses_the_question_up(service: Service, passkey: Authenticator) -> None:
    answer = passkey.used(question(service))
    refused(second_step(service, passkey="{}"), 401, "wrong-passkey")
    refused(second_step(service, passkey=answer), 422, "no-challenge")


def test_one_password_adds_one_passkey(service: Service) -> None:
    """Whoever has the browser afterwards adds no other with what was asked before."""
    csrf = signed_in(service)
    challenge = wish(service, csrf)
    assert urlsafe_b64decode(challenge + "==")
    assert add(service, csrf, Authenticator().made(challenge)).status_code == 204
    refused(add(service, csrf, Authenticator().made(challenge)), 422, "no-challenge")


def test_anothers_passkey_is_refused(service: Service, passkey: Authenticator) -> None:
    others, csrf = Authenticator(), signed_in(service, handle="mallory", email="m@example.org")
    assert add(service, csrf, others.made(wish(service, csrf))).status_code == 204
    refused(second_step(service, passkey=others.used(question(service))), 401, "wrong-passkey")
    impostor = Authenticator(id=passkey.id)
    refused(second_step(service, passkey=impostor.used(question(service))), 401, "wrong-passkey")


def test_a_copy_of_a_passkey_that_signs_after_it_is_refused(service: Service, passkey: Authenticator) -> None:
    copy = Authenticator(passkey.id, passkey.key, passkey.count)
    for _ in range(2):
        assert second_step(service, passkey=passkey.used(question(service))).status_code == 201
    refused(second_step(service, passkey=copy.used(question(service))), 401, "wrong-passkey")
