"""Random public ids, and SHA-256 digests of secrets."""

import hashlib
import secrets


def digest_of(secret: str) -> bytes:
    """The SHA-256 of a secret of 256 random bits: there is nothing to guess, so a plain hash is enough."""
    return hashlib.sha256(secret.encode()).digest()


BYTES = 9


def new_public_id() -> str:
    """A random id of 12 characters of the URL-safe alphabet, nearly 72 bits. No hyphen leads: a command would take the
    id for an option."""
    while (drawn := secrets.token_urlsafe(BYTES)).startswith("-"):
        pass
    return drawn
