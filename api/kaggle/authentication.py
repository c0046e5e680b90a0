"""Authentication, error bodies and absolute addresses for the ``kaggle`` client; token introspection, which is its
first request with a token; and the response to unknown methods.
"""

import base64
import binascii
from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from sqlalchemy.orm import Session

from api.http.concurrent_requests import count_request
from api.http.dependencies import (
    AppRateLimiter,
    AppSettings,
    CurrentBrowser,
    Now,
    Transactions,
    Viewer,
    account_with,
    acting_as,
    find_token_viewer,
    identify_viewer,
)
from api.http.problem_details import DATABASE_UNAVAILABLE, MAX_SHOWN_FAULTS, RETRY_SECONDS
from api.http.routing import ApiRouter
from api.kaggle.schemas import IntrospectRequest, IntrospectResponse
from scorer.acting import Acting
from scorer.db.session import UNAVAILABLE, unavailability
from scorer.db.tables import Account
from scorer.errors import Forbidden, KennelError, NotFound, TooMany, Unauthenticated, Unavailable
from scorer.monitoring.logs import annotate_request
from scorer.settings import Settings

ERROR_STATUS = 400
"""The status of almost all refusals, because the client then only prints our message. For 401 and 403, it sends people
to Kaggle; for 429, it waits even if that does not help."""
SERVICE = "/competitions.CompetitionApiService"


class KaggleRoute(APIRoute):
    """A route with errors in the client's form: ``{"code": int, "message": str}``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            try:
                return await handler(request)
            except KennelError as error:
                return build_error_response(error, request)
            except RequestValidationError as error:
                faults = [f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}" for fault in error.errors()]
                return error_response(ERROR_STATUS, _message_with_faults("The request is invalid.", faults))
            except TimeoutError:
                return error_response(408, "The upload was too slow. Try again.")
            except UNAVAILABLE as error:
                annotate_request(error=unavailability(error))
                answer = error_response(503, DATABASE_UNAVAILABLE)
                answer.headers["Retry-After"] = str(RETRY_SECONDS)
                return answer

        return handle


class KaggleRouter(ApiRouter):
    """A router of :class:`KaggleRoute`. Our OpenAPI document does not describe Kaggle's interface."""

    def __init__(self) -> None:
        super().__init__(route_class=KaggleRoute, include_in_schema=False)


def error_response(status: int, message: str) -> JSONResponse:
    return JSONResponse({"code": status, "message": message}, status)


def build_error_response(error: KennelError, request: Request) -> JSONResponse:
    settings: Settings = request.app.state.settings
    message = error.message
    if error.slug == "rules-not-accepted":
        place = f"{settings.public_url}/competitions/{error.extra['competition']}#rules"
        message = f"Accept the rules of this competition first: {place}"
    answer = error_response(_choose_status(error, request), _message_with_faults(message, error.faults))
    if answer.status_code == 429 and isinstance(error, TooMany):
        answer.headers["Retry-After"] = str(error.retry_after or 1)
    return answer


def _choose_status(error: KennelError, request: Request) -> int:
    match error:
        case NotFound():
            return 404
        case Unavailable():
            return 503
        case TooMany() if request.url.path.endswith("/GetSubmission"):
            return 429  # the only call that the client repeats after ``Retry-After``
        case _:
            return ERROR_STATUS


def _message_with_faults(message: str, faults: tuple[str, ...] | list[str]) -> str:
    return "\n  - ".join([message, *faults[:MAX_SHOWN_FAULTS]])


def parse_credentials(header: str) -> tuple[str | None, str]:
    """The handle (or None) and the token of an ``Authorization`` header: ``Basic``, which the client uses for the key
    in ``kaggle.json``, or ``Bearer``. ``Unauthenticated`` for anything else."""
    scheme, _, credentials = header.strip().partition(" ")
    if scheme.lower() == "bearer" and credentials.strip():
        return None, credentials.strip()
    if scheme.lower() == "basic":
        try:
            handle, _, secret = base64.b64decode(credentials.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            handle = secret = ""
        if handle and secret:
            return handle, secret
    raise Unauthenticated(
        "no-token",
        "The request has no API token. Set KAGGLE_USERNAME to your handle here, and KAGGLE_KEY to an API token from "
        "/account.",
    )


def authenticated_viewer(
    request: Request,
    begin: Transactions,
    moment: Now,
    *,
    rates: AppRateLimiter,
    browser: CurrentBrowser,
    settings: AppSettings,
) -> Viewer:
    """The viewer of an API token. Cookies are ignored, so CSRF is impossible."""
    handle, secret = parse_credentials(request.headers.get("authorization", ""))

    def find_viewer(session: Session) -> Viewer:
        viewer = find_token_viewer(session, secret, moment)
        if handle is not None and handle.lower() != viewer.account.handle.lower():
            raise Unauthenticated(
                "bad-token", f"This token does not belong to {handle!r}. Set KAGGLE_USERNAME to your handle."
            )
        return viewer

    viewer = identify_viewer(find_viewer, begin, rates, browser=browser, policy=settings.require_second_factor)
    if viewer is None:
        raise AssertionError("a token has an owner")
    return viewer


async def counted_viewer(request: Request, viewer: Annotated[Viewer, Depends(authenticated_viewer)]) -> Viewer:
    """The viewer; ``TooMany`` for too many requests in progress."""
    count_request(request, viewer.account.id)
    return viewer


reader = account_with("read", counted_viewer)
submitter = account_with("submit", counted_viewer)
Reader = Annotated[Account, Depends(reader)]
Submitter = Annotated[Account, Depends(submitter)]
ActingReader = Annotated[Acting, Depends(acting_as(reader))]
ActingSubmitter = Annotated[Acting, Depends(acting_as(submitter))]


def build_absolute_url(request: Request, path: str, settings: Settings) -> str:
    """An absolute URL that this client can reach. It starts with ``public_url``, which includes TLS and a path prefix,
    if its host is the request's; otherwise with the request's own host."""
    requested = request.base_url
    is_public = urlsplit(settings.public_url).netloc == requested.netloc
    return f"{settings.public_url if is_public else str(requested).rstrip('/')}{path}"


router = KaggleRouter()


@router.post("/security.OAuthService/IntrospectToken")
def introspect_token(
    body: IntrospectRequest, begin: Transactions, now: Now, rates: AppRateLimiter, browser: CurrentBrowser
) -> IntrospectResponse:
    """The owner of a token. Unknown tokens are not active and count for a rate limit."""

    def find_viewer(session: Session) -> Viewer:
        return find_token_viewer(session, body.token, now)

    try:
        viewer = identify_viewer(find_viewer, begin, rates, browser=browser, policy="nobody")
    except (Forbidden, Unauthenticated):
        viewer = None
    if viewer is None:
        return IntrospectResponse(active=False)
    return IntrospectResponse(active=True, username=viewer.account.handle)


@router.post("/{service}Service/{method}")
def unknown_method(service: str, method: str) -> JSONResponse:
    return error_response(
        404,
        f"This service does not support {method}. It supports competitions, submissions, leaderboards and data files.",
    )
