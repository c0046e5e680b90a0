"""Webhook signatures: HMAC-SHA256 over timestamp and body."""

import hashlib
import hmac


def signature(secret: str, timestamp: int, body: bytes) -> str:
    """The header ``Kennel-Signature``: HMAC-SHA256 of ``timestamp.body`` (hex), with the timestamp (Unix seconds), so
    that a receiver can refuse replayed requests."""
    digest = hmac.new(secret.encode(), b"%d." % timestamp + body, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"
