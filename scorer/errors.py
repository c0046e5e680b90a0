"""Errors for people: each has a stable slug, which is part of the API, and a message that is safe to show.

``KennelError`` and ``Invalid`` are in the client, which also raises them. ``api.http.problem_details`` maps the classes
to HTTP statuses. Any other exception is Kennel's fault and is shown as a generic failure.
"""

from typing import Any

from kennel_client.errors import Invalid, KennelError

__all__ = [
    "Conflict",
    "Forbidden",
    "Invalid",
    "KennelError",
    "NotFound",
    "OutOfSpace",
    "StoreUnavailable",
    "TooLarge",
    "TooMany",
    "Unauthenticated",
    "Unavailable",
]


class Unauthenticated(KennelError):
    """Nobody is signed in, or the token is unknown, expired or revoked."""


class Forbidden(KennelError):
    """The person is signed in but may not do this."""


class NotFound(KennelError):
    """The resource does not exist, or this person may not know that it exists."""


class Conflict(KennelError):
    """The state of the resource does not allow this."""


class TooLarge(KennelError):
    """The input is larger than the competition allows."""


class TooMany(KennelError):
    """A limit is reached. ``retry_after``: seconds until the next try can succeed; None if unknown."""

    def __init__(self, slug: str, message: str, *, retry_after: int | None = None, **extra: Any) -> None:
        super().__init__(slug, message, **extra)
        self.retry_after = retry_after


class Unavailable(KennelError):
    """Something that the operator must provide is missing: weights, a server, a folder."""


class StoreUnavailable(Unavailable):
    """The blob store does not answer, or refuses.

    ``str()`` has the ``reason`` for logs and operators. It may contain addresses and keys, so it is not in the message.
    """

    def __init__(self, slug: str, message: str, *, reason: str) -> None:
        super().__init__(slug, message)
        self.reason = reason

    def __str__(self) -> str:
        return f"The blob store cannot be used: {self.reason}"


class OutOfSpace(KennelError):
    """The disk is full. Stored data is not affected."""
