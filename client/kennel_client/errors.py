"""Errors with messages for users: faults in a zip, and problems that the service reports."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

UNPROCESSABLE = 422


class KennelError(Exception):
    """Base class of errors with a message for users.

    ``slug`` names the problem for programs (``wrong-count``), ``message`` describes it in one sentence, ``faults``
    lists details (at most ten are shown), ``extra`` adds fields to the response.
    """

    def __init__(self, slug: str, message: str, *, faults: Sequence[str] = (), **extra: Any) -> None:
        super().__init__(message)
        self.slug = slug
        self.message = message
        self.faults = tuple(faults)
        self.extra = extra


class Invalid(KennelError):
    """The input is invalid; ``faults`` lists the problems."""


class Refused(Exception):
    """The service responded with a problem (RFC 9457); the message is meant for the user."""

    def __init__(self, status: int, problem: dict[str, Any], *, retry_after: int | None = None) -> None:
        faults = "".join(f"\n  - {fault}" for fault in problem.get("faults", ()))
        super().__init__(f"{problem.get('title', 'The service refused the request.')}{faults}")
        self.status = status
        self.problem = problem
        self.retry_after = retry_after

    @property
    def slug(self) -> str:
        """The problem's slug; empty if there is none."""
        return str(self.problem.get("type", "")).rpartition(":")[2]


class Unreachable(Refused):
    """The service did not respond, or something other than Kennel responded. ``lasting``: a retry does not help."""

    def __init__(self, title: str, *, lasting: bool = False) -> None:
        super().__init__(0, {"type": "urn:kennel:problem:no-answer", "title": title})
        self.lasting = lasting


class Unreadable(Refused):
    """A local file is missing, unreadable or in a wrong format."""

    def __init__(self, title: str) -> None:
        super().__init__(0, {"type": "urn:kennel:problem:unreadable", "title": title})


@contextmanager
def naming(file: object) -> Iterator[None]:
    """Prefix errors in the block with the path of ``file``, if it is a path."""
    prefix = f"{file}: " if isinstance(file, str | PathLike) else ""
    try:
        yield
    except Invalid as error:
        raise Invalid(error.slug, f"{prefix}{error.message}", faults=error.faults, **error.extra) from None
    except Refused as error:
        if error.status != UNPROCESSABLE:
            raise
        problem = error.problem | {"title": f"{prefix}{error.problem.get('title', '')}"}
        raise Refused(error.status, problem, retry_after=error.retry_after) from None
