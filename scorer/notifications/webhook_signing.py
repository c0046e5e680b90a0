"""Webhook signatures: those of Standard Webhooks (https://www.standardwebhooks.com)."""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping

PREFIX = "whsec_"
"""Begins a secret; the rest is its key in base64."""
KEY_BYTES = 32


def encode_secret(key: bytes) -> str:
    """The secret for a random key of 24 to 64 bytes, as receivers' libraries take it."""
    return PREFIX + b64encode(key).decode()


def signed_headers(secret: str, delivery_id: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """The headers by which a receiver verifies a delivery: its id, when it was sent (Unix seconds), so that a replayed
    request can be refused, and the HMAC-SHA256 of both with the body."""
    key = b64decode(secret.removeprefix(PREFIX))
    signature = hmac.digest(key, f"{delivery_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{b64encode(signature).decode()}",
    }
