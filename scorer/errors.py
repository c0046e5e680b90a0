"""Errors meant for people: kinds with a stable slug and a message that is safe to show.

A :class:`KennelError` is addressed to the person who caused it; its ``slug`` is part of the API. The kinds know nothing
of HTTP; ``api.http.problem_details`` maps them to status codes. Any other exception is Kennel's fault and is shown as a
generic failure.
"""

from collections.abc import Sequence
from typing import Any


class KennelError(Exception):
    """Base of all errors that are shown to a person.

    ``slug`` names the problem for programs (``wrong-count``), ``message`` describes it in one sentence,
    ``faults`` lists particulars (at most ten are shown), ``extra`` adds fields to the answer.
    """

    def __init__(self, slug: str, message: str, *, faults: Sequence[str] = (), **extra: Any) -> None:
        super().__init__(message)
        self.slug = slug
        self.message = message
        self.faults = tuple(faults)
        self.extra = extra


class Unauthenticated(KennelError):
    """Nobody is signed in, or the token is unknown, expired or revoked."""


class Forbidden(KennelError):
    """The person is signed in but may not do this."""


class NotFound(KennelError):
    """The thing does not exist, or this person may not know that it does."""


class Conflict(KennelError):
    """The thing is in a state that does not allow this."""


class Invalid(KennelError):
    """The input is wrong; ``faults`` says where."""


class TooLarge(KennelError):
    """The input is larger than the competition allows."""


class TooMany(KennelError):
    """A limit is used up; ``retry_after`` is the seconds until it frees, None where unknown."""

    def __init__(self, slug: str, message: str, *, retry_after: int | None = None, **extra: Any) -> None:
        super().__init__(slug, message, **extra)
        self.retry_after = retry_after


class Unavailable(KennelError):
    """A part that the operator must provide is missing: weights, a server, a folder."""


class OutOfSpace(KennelError):
    """The disk is full; nothing that is there is lost."""
