"""Names for what people point at: short, unguessable, and safe in an address and on a command line."""

import secrets

BYTES = 9


def new_public_id() -> str:
    """A random id of 12 characters of the URL-safe alphabet, nearly 72 bits; a command would take a leading hyphen for an
    option, so there is none."""
    while (drawn := secrets.token_urlsafe(BYTES)).startswith("-"):
        pass
    return drawn
