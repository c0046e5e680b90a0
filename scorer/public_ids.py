"""Names for what people point at: short, unguessable, and safe in an address and on a command line."""

import secrets

BYTES = 9


def new_public_id() -> str:
    """A random id of 12 characters of the URL-safe alphabet, nearly 72 bits. No hyphen leads: a command would take the
    id for an option."""
    while (drawn := secrets.token_urlsafe(BYTES)).startswith("-"):
        pass
    return drawn
