"""Verification of receipts: whether a service has signed the content of a receipt."""

import json
from base64 import urlsafe_b64decode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from types import UnionType
from typing import Any, TypeGuard

from kennel_client.errors import Refused, Unreadable

ALGORITHM = "Ed25519"
KEYS_PATH = "/.well-known/kennel-keys.json"
"""The path of a service's public keys."""
NUMBER = int | float
FORM: Mapping[str, type | UnionType] = {
    "issuer": str,
    "issued_at": str,
    "title": str,
    "phase": str,
    "submission": str,
    "team": str,
    "scores": list,
}
SCORE_FORM: Mapping[str, type | UnionType] = {
    "track": str,
    "mifid": NUMBER | None,
    "fid": NUMBER,
    "memorization_distance": NUMBER,
    "rank": int | None,
}
"""Required fields of a receipt and of its scores, with their types. A later version may have more."""


class Forged(Refused):
    """None of the keys signed the receipt, or its text differs from the signed text."""

    def __init__(self, title: str) -> None:
        super().__init__(0, {"type": "urn:kennel:problem:bad-receipt", "title": title})


def read_issuer(document: Any) -> str:
    """The service that the receipt names as its signer; raises ``Forged`` if it is not a receipt."""
    issuer = document["receipt"].get("issuer") if _is_signed_receipt(document) else None
    if not isinstance(issuer, str):
        raise Forged("This is not a receipt.")
    return issuer


def verified_receipt(document: Any, keys: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The content of a receipt if one of the ``keys`` (JWKs) has signed exactly that; raises ``Forged`` otherwise.
    Raises ``Unreadable`` without the package cryptography, and if signed content lacks fields of a receipt.
    """
    try:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - larger than the client
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    except ImportError:
        raise Unreadable(
            "Verifying a signature needs the package cryptography. Run: pip install cryptography"
        ) from None
    if not _is_signed_receipt(document):
        raise Forged("This is not a receipt.")
    try:
        header, payload, signature = document["jws"].split(".")
        key_id, algorithm = (json.loads(_decoded(header)).get(name) for name in ("kid", "alg"))
        named = [_decoded(str(key["x"])) for key in keys if key.get("kid") == key_id]
        signed, contents = _decoded(signature), json.loads(_decoded(payload))
        public_keys = [Ed25519PublicKey.from_public_bytes(key) for key in named]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise Forged("The signature of this receipt cannot be read.") from None
    if algorithm != ALGORITHM or not public_keys:
        raise Forged("This receipt is not signed with any of the keys.")
    try:
        public_keys[0].verify(signed, f"{header}.{payload}".encode())
    except InvalidSignature:
        raise Forged("The signature is invalid: the receipt was altered, or another service signed it.") from None
    if contents != document["receipt"]:
        raise Forged("The receipt differs from the signed content.")
    if (field := next(_unreadable_fields(contents), None)) is not None:
        raise Unreadable(
            f"The signature is valid, but this version of kennel-client cannot read the receipt: {field} is missing or "
            "has an unknown type. Upgrade kennel-client."
        )
    return dict(contents)


def _unreadable_fields(contents: Mapping[str, Any]) -> Iterator[str]:
    """Fields that are missing or of another type. Read only the first: later ones may raise other errors."""
    yield from (name for name, kind in FORM.items() if not isinstance(contents.get(name, ...), kind))
    if not _is_time(contents.get("issued_at")):
        yield "issued_at"
    for score in contents["scores"]:
        if not isinstance(score, dict):
            yield "scores"
        yield from (f"scores.{name}" for name, kind in SCORE_FORM.items() if not isinstance(score.get(name, ...), kind))


def _is_time(text: Any) -> bool:
    with suppress(TypeError, ValueError):
        return datetime.fromisoformat(text).tzinfo is not None
    return False


def _is_signed_receipt(document: Any) -> TypeGuard[Mapping[str, Any]]:
    return (
        isinstance(document, dict)
        and isinstance(document.get("receipt"), dict)
        and isinstance(document.get("jws"), str)
    )


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
