"""Errors meant for people, with a stable slug and a message that is safe to show."""

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


class Invalid(KennelError):
    """The input is wrong; ``faults`` says where."""
