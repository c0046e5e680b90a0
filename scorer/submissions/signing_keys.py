"""The service's own Ed25519 keys (RFC 8032): signatures that anybody can check, and the public halves to check them by.

A signature is a JWS in compact form (RFC 7515, algorithm ``Ed25519`` of RFC 9864); the public halves are a JWK set (RFC
7517, RFC 8037), in which each is named by its thumbprint (RFC 7638).
"""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.db.submissions import signing_keys
from scorer.db.tables import Account, SigningKey

ALGORITHM = "Ed25519"
Jwk = Mapping[str, str]


def sign(session: Session, payload: bytes, *, now: datetime) -> str:
    """The payload, signed by the newest key, as a JWS in compact form; the first signature makes the first key."""
    keys = signing_keys.signing_keys(session)
    key = keys[0] if keys else _new_key(session, now)
    if key.private_key is None:
        raise RuntimeError(f"signing key {key.id} is the newest and has no private half")
    header = {"alg": ALGORITHM, "kid": _public_jwk(key)["kid"]}
    signed = f"{_encoded(json.dumps(header).encode())}.{_encoded(payload)}"
    signature = Ed25519PrivateKey.from_private_bytes(key.private_key).sign(signed.encode())
    return f"{signed}.{_encoded(signature)}"


def public_keys(session: Session) -> Sequence[Jwk]:
    """The public halves of all keys, newest first, as JWKs; none before anything was signed."""
    return [_public_jwk(key) for key in signing_keys.signing_keys(session)]


def rotate(session: Session, *, author: Account | None, now: datetime) -> Jwk:
    """Make the key that signs from now on, and return its public half. The private halves of former ones are removed;
    their public ones stay. ``author``: None for the operator."""
    signing_keys.remove_private_keys(session)
    jwk = _public_jwk(_new_key(session, now))
    subject = f"signing-key:{jwk['kid']}"
    audit_log.record_action(session, "signing-key.made", subject, actor=author, now=now)
    return jwk


def _new_key(session: Session, now: datetime) -> SigningKey:
    private_key = Ed25519PrivateKey.generate()
    public_bytes = private_key.public_key().public_bytes_raw()
    return signing_keys.add_signing_key(session, public_bytes, private_key.private_bytes_raw(), now=now)


def _public_jwk(key: SigningKey) -> Jwk:
    required = {"crv": "Ed25519", "kty": "OKP", "x": _encoded(key.public_key)}
    thumbprint = hashlib.sha256(json.dumps(required, separators=(",", ":"), sort_keys=True).encode()).digest()
    return {**required, "kid": _encoded(thumbprint), "alg": ALGORITHM, "use": "sig"}


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()
