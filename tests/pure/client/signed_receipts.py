"""Receipts with signatures like those of the service."""

import json
from typing import Any

from joserfc import jws
from joserfc.jwk import OKPKey

KEY, OTHER = (OKPKey.generate_key("Ed25519") for _ in range(2))
SCORE = {"track": "public", "mifid": 12.5e-7, "fid": 4, "memorization_distance": 0.25, "rank": None}
RECEIPT = {
    "issuer": "https://kennel.example.org",
    "issued_at": "2026-03-14T12:00:00Z",
    "title": "Generative dogs",
    "phase": "open",
    "submission": "abc",
    "team": "Zoë",
    "scores": [SCORE],
}


def to_jwk(key: OKPKey) -> dict[str, Any]:
    return {**key.as_dict(private=False), "kid": key.thumbprint()}


def signed(receipt: Any, key: OKPKey = KEY, **header: Any) -> dict[str, Any]:
    """A receipt in the service's format, signed by joserfc."""
    named = {"alg": "Ed25519", "kid": key.thumbprint(), **header}
    return {"receipt": receipt, "jws": jws.serialize_compact(named, json.dumps(receipt), key, algorithms=["Ed25519"])}
