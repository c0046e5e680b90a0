"""Errors meant for people: kinds with a stable slug and a message that is safe to show.

The base and ``Invalid`` belong to the client, whose reader of zips raises them on a participant's machine as well. A
:class:`KennelError` is addressed to the person who caused it; its ``slug`` is part of the API. The kinds know nothing
of HTTP; ``api.http.problem_details`` maps them to status codes. Any other exception is Kennel's fault and is shown as a
generic failure.
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
    """The thing does not exist, or this person may not know that it does."""


class Conflict(KennelError):
    """The thing is in a state that does not allow this."""


class TooLarge(KennelError):
    """The input is larger than the competition allows."""


class TooMany(KennelError):
    """A limit is used up; ``retry_after`` is the seconds until it frees, None where unknown."""

    def __init__(self, slug: str, message: str, *, retry_after: int | None = None, **extra: Any) -> None:
        super().__init__(slug, message, **extra)
        self.retry_after = retry_after


class Unavailable(KennelError):
    """A part that the operator must provide is missing: weights, a server, a folder."""


class StoreUnavailable(Unavailable):
    """The blob store does not answer, or refuses. ``str`` of it has the ``reason``, for logs and operators: its
    addresses and keys are not for the message."""

    def __init__(self, slug: str, message: str, *, reason: str) -> None:
        super().__init__(slug, message)
        self.reason = reason

    def __str__(self) -> str:
        return f"The blob store cannot be used: {self.reason}"


class OutOfSpace(KennelError):
    """The disk is full; nothing that is there is lost."""
