"""What Kennel keeps of the random secrets that it gives away: cookies, API tokens, one-time links."""

import hashlib


def digest_of(secret: str) -> bytes:
    """The SHA-256 of a secret of 256 random bits: there is nothing to guess, so a plain hash is enough."""
    return hashlib.sha256(secret.encode()).digest()
