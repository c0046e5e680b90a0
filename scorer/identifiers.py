"""Random public ids, and SHA-256 digests of secrets."""

import hashlib
import secrets


def new_secret() -> str:
    """Return 256 random bits in base64url, for a cookie, an API token or a one-time link."""
    return secrets.token_urlsafe(32)


BYTES = 9


def hash_secret(secret: str) -> bytes:
    """Return the SHA-256 of a secret. A plain hash is enough: nobody can guess 256 random bits."""
    return hashlib.sha256(secret.encode()).digest()


def new_public_id() -> str:
    """Return a random id of 12 characters from the URL-safe alphabet, nearly 72 bits.

    It never starts with a hyphen, which commands would read as an option.
    """
    while (drawn := secrets.token_urlsafe(BYTES)).startswith("-"):
        pass
    return drawn
