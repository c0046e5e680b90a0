"""What can go wrong, in the words of the competition.

A :class:`KennelError` is meant for the person who caused it: its ``message`` is safe to show, its
``slug`` is stable and part of the API. The kinds know nothing of HTTP; ``api.http.problem_details`` maps them.
Anything that is not a :class:`KennelError` is our fault and is shown as a generic failure.
"""

from collections.abc import Sequence
from typing import Any


class KennelError(Exception):
    """Base of all errors that are told to a person.

    ``slug`` names the problem for programs (``wrong-count``), ``message`` says it in one sentence,
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
    """Signed in, but this is not theirs to do."""


class NotFound(KennelError):
    """No such thing, or none that this person may know of."""


class Conflict(KennelError):
    """The thing is in a state that does not allow this."""


class Invalid(KennelError):
    """The input is wrong; ``faults`` says where."""


class TooLarge(KennelError):
    """The input is larger than the competition allows."""


class TooMany(KennelError):
    """A limit is used up; ``retry_after`` (seconds) says when it frees, where that is known."""

    def __init__(self, slug: str, message: str, *, retry_after: int | None = None, **extra: Any) -> None:
        super().__init__(slug, message, **extra)
        self.retry_after = retry_after


class Unavailable(KennelError):
    """A part that the operator must provide is missing: weights, a server, a folder."""
