"""From a domain error to RFC 9457: the only table of HTTP statuses."""

import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from api.discretion import discreet
from api.pages.rendering import error_page, see, wants_page
from scorer.errors import (
    Conflict,
    Forbidden,
    Invalid,
    KennelError,
    NotFound,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
)

log = logging.getLogger(__name__)

STATUS: Mapping[type[KennelError], int] = {
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Conflict: 409,
    TooLarge: 413,
    Invalid: 422,
    TooMany: 429,
    Unavailable: 503,
}
SHOWN_FAULTS = 10
KEPT_HEADERS = ("allow", "retry-after", "www-authenticate")


def problem(
    status: int, slug: str, title: str, *, headers: Mapping[str, str] | None = None, **extra: Any
) -> JSONResponse:
    """An ``application/problem+json`` answer; ``type`` is stable, ``title`` is for people."""
    body = {"type": f"urn:kennel:problem:{slug}", "title": title, "status": status, **extra}
    return JSONResponse(body, status, headers=dict(headers or {}), media_type="application/problem+json")


def status_of(error: KennelError) -> int:
    """The status of a domain error: that of its class, or of the nearest base class that has one."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def headers_of(error: KennelError) -> dict[str, str]:
    """What a domain error adds to the headers."""
    headers = {}
    if isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooMany) and error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return headers


def problem_of(error: KennelError) -> JSONResponse:
    """The answer to a domain error."""
    extra = dict(error.extra)
    if error.faults:
        extra["faults"] = list(error.faults[:SHOWN_FAULTS])
    return problem(status_of(error), error.slug, error.message, headers=headers_of(error), **extra)


def add_handlers(app: FastAPI) -> None:
    """Let every failure of ``app`` leave as a problem, or, where a browser asks for a page, as a page."""

    @app.exception_handler(KennelError)
    async def _domain(request: Request, error: KennelError) -> Response:
        if error.slug == "no-token" and request.method == "GET" and wants_page(request):
            return see(f"/signin?next={quote(request.url.path)}")
        return _answer(request, problem_of(error), error.message)

    @app.exception_handler(RequestValidationError)
    async def _validation(request: Request, error: RequestValidationError) -> Response:
        faults = [f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in error.errors()]
        title = "The request is not as it should be."
        return _answer(request, problem(422, "bad-request", title, faults=faults[:SHOWN_FAULTS]), title)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        title = str(error.detail)
        return _answer(request, problem(error.status_code, "http", title, headers=error.headers), title)

    @app.exception_handler(ClientDisconnect)
    async def _gone(request: Request, _: ClientDisconnect) -> Response:
        log.info("%s %s: the client went away", request.method, discreet(request.url.path))
        return Response(status_code=400)  # nobody reads it

    @app.exception_handler(Exception)
    async def _ours(request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, discreet(request.url.path), exc_info=error)
        title = "Something went wrong on our side. Please try again."
        return _answer(request, problem(500, "our-fault", title), title)


def _answer(request: Request, response: JSONResponse, message: str) -> Response:
    if not wants_page(request):
        return response
    kept = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
    return error_page(response.status_code, message, headers=kept)
