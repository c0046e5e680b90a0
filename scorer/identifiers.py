"""Random public ids, and SHA-256 digests of secrets."""

import hashlib
import secrets


def new_secret() -> str:
    """256 random bits in base64url, for a cookie, an API token or a one-time link."""
    return secrets.token_urlsafe(32)


BYTES = 9


def digest_of(secret: str) -> bytes:
    """The SHA-256 of a secret of 256 random bits, which can't be guessed, so that a plain hash is enough."""
    return hashlib.sha256(secret.encode()).digest()


def new_public_id() -> str:
    """A random id of 12 characters of the URL-safe alphabet, nearly 72 bits. It never starts with a hyphen, which a
    command would take for an option.
    """
    while (drawn := secrets.token_urlsafe(BYTES)).startswith("-"):
        pass
    return drawn
