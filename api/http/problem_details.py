"""Problem details (RFC 9457) of domain errors, and the only table of their HTTP statuses."""

from collections.abc import Mapping
from typing import Any

from fastapi.responses import JSONResponse

from scorer.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KennelError,
    NotFound,
    OutOfSpace,
    StoreUnavailable,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
)
from scorer.monitoring.logs import annotate_request, request_id

STATUS_BY_ERROR: Mapping[type[KennelError], int] = {
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    Invalid: 422,
    TooMany: 429,
    Unavailable: 503,
    StoreUnavailable: 503,
    OutOfSpace: 507,
}
DATABASE_UNAVAILABLE = "The database is busy or unavailable. Try again in a few seconds."
RETRY_SECONDS = 5
"""When to try again after the database or the blob store did not respond."""
FULL_DISK_SECONDS = 60
"""When to try again after the disk was full."""
RETRY_AFTER: Mapping[type[KennelError], int] = {StoreUnavailable: RETRY_SECONDS, OutOfSpace: FULL_DISK_SECONDS}
MAX_SHOWN_FAULTS = 10
FORWARDED_HEADERS = ("allow", "retry-after", "www-authenticate")


def problem(
    status: int, slug: str, title: str, *, headers: Mapping[str, str] | None = None, **extra: Any
) -> JSONResponse:
    """An ``application/problem+json`` response. ``type`` is stable, ``title`` is for people, and operators find the log
    records with ``request_id``."""
    body = {"type": f"urn:kennel:problem:{slug}", "title": title, "status": status, **extra}
    if (identifier := request_id()) is not None:
        body["request_id"] = identifier
    return JSONResponse(body, status, headers=dict(headers or {}), media_type="application/problem+json")


def choose_status(error: KennelError) -> int:
    """The status of the error's class, or of its nearest base class with a status."""
    return next(STATUS_BY_ERROR[kind] for kind in type(error).__mro__ if kind in STATUS_BY_ERROR)


def error_headers(error: KennelError) -> dict[str, str]:
    """``WWW-Authenticate`` or ``Retry-After``."""
    headers = {}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    seconds = error.retry_after if isinstance(error, TooMany) else RETRY_AFTER.get(type(error))
    if seconds is not None:
        headers["Retry-After"] = str(seconds)
    return headers


def build_problem(error: KennelError) -> JSONResponse:
    """The response for a domain error. If the blob store is unavailable, the request's log line has the reason."""
    if isinstance(error, StoreUnavailable):
        annotate_request(error=str(error))
    extra = dict(error.extra)
    if error.faults:
        extra["faults"] = list(error.faults[:MAX_SHOWN_FAULTS])
    return problem(choose_status(error), error.slug, error.message, headers=error_headers(error), **extra)
