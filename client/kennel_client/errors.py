"""Errors meant for people: what is wrong with a zip, and what the service has answered."""

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


class Refused(Exception):
    """The service answered with a problem (RFC 9457); the message is meant for the user."""

    def __init__(self, status: int, problem: dict[str, Any], *, retry_after: int | None = None) -> None:
        faults = "".join(f"\n  - {fault}" for fault in problem.get("faults", ()))
        super().__init__(f"{problem.get('title', 'The service refused this.')}{faults}")
        self.status = status
        self.problem = problem
        self.retry_after = retry_after

    @property
    def slug(self) -> str:
        """The problem's slug; empty if there is none."""
        return str(self.problem.get("type", "")).rpartition(":")[2]


class Unreachable(Refused):
    """The service did not answer, or what answered is not Kennel. ``lasting``: it will not answer later, either."""

    def __init__(self, title: str, *, lasting: bool = False) -> None:
        super().__init__(0, {"type": "urn:kennel:problem:no-answer", "title": title})
        self.lasting = lasting


class Unreadable(Refused):
    """A local file that is missing, unreadable or of a wrong format."""

    def __init__(self, title: str) -> None:
        super().__init__(0, {"type": "urn:kennel:problem:unreadable", "title": title})
