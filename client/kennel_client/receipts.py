"""Checking receipts: whether a service has signed what a receipt says."""

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
"""Where a service has its public keys."""
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
"""The fields that every receipt has, and each of its scores, with their types. A later version may have more."""


class Forged(Refused):
    """A receipt that none of the keys has signed, or whose text is not what was signed."""

    def __init__(self, title: str) -> None:
        super().__init__(0, {"type": "urn:kennel:problem:bad-receipt", "title": title})


def issuer_of(document: Any) -> str:
    """The service that a receipt says has signed it; ``Forged`` for what is no receipt."""
    issuer = document["receipt"].get("issuer") if _is_signed_receipt(document) else None
    if not isinstance(issuer, str):
        raise Forged("This is not a receipt.")
    return issuer


def verified_receipt(document: Any, keys: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a receipt says, if one of the ``keys`` (JWKs) has signed exactly that; ``Forged`` otherwise. ``Unreadable``
    where the package cryptography is not installed, and for what is signed but has not the fields of a receipt."""
    try:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - larger than the client
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
    except ImportError:
        raise Unreadable("Checking a signature needs the package cryptography: pip install cryptography") from None
    if not _is_signed_receipt(document):
        raise Forged("This is not a receipt.")
    try:
        header, payload, signature = document["jws"].split(".")
        key_id, algorithm = (json.loads(_decoded(header)).get(name) for name in ("kid", "alg"))
        named = [_decoded(str(key["x"])) for key in keys if key.get("kid") == key_id]
        signed, contents = _decoded(signature), json.loads(_decoded(payload))
        public_keys = [Ed25519PublicKey.from_public_bytes(each) for each in named]
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        raise Forged("The signature of this receipt cannot be read.") from None
    if algorithm != ALGORITHM or not public_keys:
        raise Forged("None of the keys has signed this receipt.")
    try:
        public_keys[0].verify(signed, f"{header}.{payload}".encode())
    except InvalidSignature:
        raise Forged("The signature does not fit: the receipt was altered, or another service has signed it.") from None
    if contents != document["receipt"]:
        raise Forged("The receipt says something else than what was signed.")
    if (field := next(_unreadable_fields(contents), None)) is not None:
        raise Unreadable(
            f"This is signed, but it is no receipt of a form that this version knows: {field} is missing or of another "
            "type. A newer version of kennel-client may read it."
        )
    return dict(contents)


def _unreadable_fields(contents: Mapping[str, Any]) -> Iterator[str]:
    """Fields that are missing or of another type; whoever takes more than the first of them may meet an error."""
    yield from (name for name, kind in FORM.items() if not isinstance(contents.get(name, ...), kind))
    if not _is_time(contents.get("issued_at")):
        yield "issued_at"
    for each in contents["scores"]:
        if not isinstance(each, dict):
            yield "scores"
        yield from (f"scores.{name}" for name, kind in SCORE_FORM.items() if not isinstance(each.get(name, ...), kind))


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
