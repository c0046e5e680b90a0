"""Webhook signatures: those of Standard Webhooks (https://www.standardwebhooks.com), and Kennel's own of before."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping

PREFIX = "whsec_"
"""Begins a secret that is the base64 of its key; those made before there was a prefix are their key themselves."""
KEY_BYTES = 32


def encode_secret(key: bytes) -> str:
    """The secret for a random key of 24 to 64 bytes, as receivers' libraries take it."""
    return PREFIX + b64encode(key).decode()


def signed_headers(secret: str, delivery_id: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """The headers by which a receiver verifies a delivery: its id, when it was sent (Unix seconds), so that a replayed
    request can be refused, and the HMAC-SHA256 of both with the body. ``Kennel-Signature`` is for receivers of before;
    the next version is without."""
    signature = hmac.digest(_key_of(secret), f"{delivery_id}.{timestamp}.".encode() + body, hashlib.sha256)
    former = hmac.new(secret.encode(), b"%d." % timestamp + body, hashlib.sha256).hexdigest()
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{b64encode(signature).decode()}",
        "Kennel-Signature": f"t={timestamp},v1={former}",
    }


def _key_of(secret: str) -> bytes:
    return b64decode(secret.removeprefix(PREFIX)) if secret.startswith(PREFIX) else secret.encode()
