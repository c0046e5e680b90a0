"""Exception handlers: every error becomes a problem (RFC 9457) or an error page."""

from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import quote

from fastapi import FastAPI, Request, Response, status
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from api.http.dependencies import Viewer, claimed_viewer, utc_now
from api.http.forms import RefusedForm
from api.http.local_paths import path_with_query, referring_path
from api.http.problem_details import (
    DATABASE_UNAVAILABLE,
    FORWARDED_HEADERS,
    MAX_SHOWN_FAULTS,
    RETRY_SECONDS,
    build_problem,
    problem,
)
from api.http.request_bodies import RefusedBody
from api.http.session_cookies import session_secret
from api.rendering.templates import render_page, see_other, wants_page
from scorer.db.session import DATABASE_ERROR, UNAVAILABLE, is_unavailable, unavailability
from scorer.errors import KennelError
from scorer.monitoring.logs import annotate_request

SIGN_IN = "/signin?next={onward}"
REMEDIES = {"no-token": SIGN_IN, "second-factor-needed": "/account/second-factor?next={onward}"}
"""The page that a browser is redirected to, by problem."""
HIDDEN_BOARDS = frozenset({"not-published", "not-published-then", "not-final"})
"""Problems that signing in as an organizer may solve."""
SENTENCES = {
    (404, "Not Found"): "There is no page at this address. Check the address.",
    (405, "Method Not Allowed"): "This address does not support the request method.",
}
"""The messages of error pages for problems whose only text is the name of the status."""
ERROR_TITLES = {
    400: "Bad request",
    401: "Sign in",
    403: "Forbidden",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "File too large",
    422: "Invalid input",
    429: "Too many requests",
    500: "Internal server error",
    503: "Service unavailable",
}
WITHOUT_LOOK_UP = frozenset({429, 500, 503})
UNREADABLE_JSON = (ValueError, RecursionError)
"""What Python's JSON parser raises for other encodings, numbers with thousands of digits and thousands of nested lists.
FastAPI answers them with 400, and other invalid JSON with 422."""


def add_error_handlers(app: FastAPI) -> None:
    for kind in (*UNAVAILABLE, DATABASE_ERROR):
        app.add_exception_handler(kind, _database_unavailable)
    app.add_exception_handler(RefusedBody, refused_body)
    app.add_exception_handler(RefusedForm, _refused_form)
    app.add_exception_handler(ClientDisconnect, _gone)

    @app.exception_handler(KennelError)
    async def _domain(request: Request, error: KennelError) -> Response:
        if request.method == "GET" and wants_page(request) and (remedy := await _find_remedy(request, error)):
            return see_other(remedy.format(onward=quote(path_with_query(request.url), safe="")))
        return await _answer(request, build_problem(error), error.message)

    @app.exception_handler(RequestValidationError)
    async def _validation(request: Request, error: RequestValidationError) -> Response:
        return await _bad_request(
            request, [f"{'.'.join(str(part) for part in fault['loc'])}: {fault['msg']}" for fault in error.errors()]
        )

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        if isinstance(error.__cause__, UNREADABLE_JSON):
            return await _bad_request(request, ["body: must be valid JSON in UTF-8"])
        title = str(error.detail)
        message = SENTENCES.get((error.status_code, title), title)
        return await _answer(request, problem(error.status_code, "http", title, headers=error.headers), message)

    @app.exception_handler(Exception)
    async def _ours(request: Request, _: Exception) -> Response:
        # Starlette raises the error again, and the server logs its traceback with the request's id.
        title = "The service failed to process the request. Try again."
        return await _answer(request, problem(500, "our-fault", title), title)


async def _find_remedy(request: Request, error: KennelError) -> str | None:
    if error.slug in HIDDEN_BOARDS and await _find_viewer(request, status.HTTP_403_FORBIDDEN) is None:
        return SIGN_IN
    return REMEDIES.get(error.slug)


async def _bad_request(request: Request, faults: Sequence[str]) -> Response:
    title = "The request is invalid."
    return await _answer(request, problem(422, "bad-request", title, faults=faults[:MAX_SHOWN_FAULTS]), title)


async def _answer(request: Request, response: JSONResponse, message: str) -> Response:
    if not wants_page(request):
        return response
    headers = {name: response.headers[name] for name in FORWARDED_HEADERS if name in response.headers}
    # A forbidden page often belongs to a competition that the viewer may see.
    slug = request.path_params.get("slug") if response.status_code == status.HTTP_403_FORBIDDEN else None
    viewer = await _find_viewer(request, response.status_code)
    unknown = bool(request.cookies) and not hasattr(request.state, "viewer") and session_secret(request) is not None
    onward = "" if request.method == "GET" else referring_path(request)  # the address of a form is not a page
    return render_page(
        "rendering/error.html",
        status=response.status_code,
        headers=headers,
        viewer=viewer,
        viewer_unknown=unknown,
        onward=onward,
        title=ERROR_TITLES.get(response.status_code, "Something went wrong"),
        message=message,
        code=response.status_code,
        slug=slug,
    )


async def _find_viewer(request: Request, code: int) -> Viewer | None:
    """The viewer for the menu of an error page. If the request has not identified the viewer, for example at an unknown
    address, this function does, but not after internal errors or too many requests, to avoid further load."""
    looks_up = bool(request.cookies) and code not in WITHOUT_LOOK_UP and not hasattr(request.state, "viewer")
    if looks_up and session_secret(request) is not None:
        with suppress(KennelError, DATABASE_ERROR, *UNAVAILABLE):
            await run_in_threadpool(claimed_viewer, request, utc_now())
    viewer: Viewer | None = getattr(request.state, "viewer", None)
    return viewer


async def _database_unavailable(request: Request, error: Exception) -> Response:
    if not is_unavailable(error):
        raise error
    annotate_request(error=unavailability(error))
    title = DATABASE_UNAVAILABLE
    headers = {"Retry-After": str(RETRY_SECONDS)}
    return await _answer(request, problem(503, "database-unavailable", title, headers=headers), title)


async def refused_body(request: Request, error: Exception) -> Response:
    if not isinstance(error, RefusedBody):
        raise error
    return await _answer(request, error.as_problem(), error.detail)


async def _refused_form(_request: Request, error: Exception) -> Response:
    if not isinstance(error, RefusedForm):
        raise error
    return error.page


async def _gone(_request: Request, _: Exception) -> Response:
    annotate_request(error="the client disconnected")
    return Response(status_code=400)  # the client is no longer there to read it
