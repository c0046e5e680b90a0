"""How the ``kaggle`` client speaks: who it says it is, how it is refused, and where it sends bytes."""

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

from api.http.dependencies import (
    AppRateLimiter,
    Caller,
    CurrentBrowser,
    Now,
    Transactions,
    caller_of_token,
    identify_caller,
)
from api.http.problem_details import MAX_SHOWN_FAULTS
from scorer.accounts import api_tokens
from scorer.db.tables import Account
from scorer.errors import KennelError, NotFound, TooMany, Unauthenticated, Unavailable
from scorer.settings import Settings

ERROR_STATUS = 400
"""Almost every refusal: the client prints our message for it and nothing else. For 401 and 403 it tells people to go to
Kaggle, for 429 it waits where it should not."""


class KaggleRoute(APIRoute):
    """Every refusal has the one form that the client shows to people: ``{"code": int, "message": str}``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def speak(request: Request) -> Response:
            try:
                return await answer(request)
            except KennelError as error:
                return error_response_of(error, request)
            except RequestValidationError as error:
                faults = [f"{'.'.join(map(str, fault['loc'][1:]))}: {fault['msg']}" for fault in error.errors()]
                return error_response(ERROR_STATUS, _message_with_faults("The request is not as it should be.", faults))
            except TimeoutError:
                return error_response(408, "The bytes came too slowly.")

        return speak


def error_response(status: int, message: str) -> JSONResponse:
    """A refusal in the client's form."""
    return JSONResponse({"code": status, "message": message}, status)


def error_response_of(error: KennelError, request: Request) -> JSONResponse:
    """What the client is told of a domain error."""
    settings: Settings = request.app.state.settings
    message = error.message
    if error.slug == "rules-not-accepted":
        place = f"{settings.public_url}/competitions/{error.extra['competition']}#rules"
        message = f"Please read and accept the rules of this competition first: {place}"
    answer = error_response(_status_of(error, request), _message_with_faults(message, error.faults))
    if answer.status_code == 429 and isinstance(error, TooMany):
        answer.headers["Retry-After"] = str(error.retry_after or 1)
    return answer


def _status_of(error: KennelError, request: Request) -> int:
    match error:
        case NotFound():
            return 404
        case Unavailable():
            return 503
        case TooMany() if request.url.path.endswith("/GetSubmission"):
            return 429  # the one call that it repeats after the seconds it is told to wait
        case _:
            return ERROR_STATUS


def _message_with_faults(message: str, faults: tuple[str, ...] | list[str]) -> str:
    return "\n  - ".join([message, *faults[:MAX_SHOWN_FAULTS]])


def credentials_of(header: str) -> tuple[str | None, str]:
    """A handle (None: not said) and a token: of ``Basic``, as a key of ``kaggle.json`` is sent, or of ``Bearer``."""
    scheme, _, given = header.strip().partition(" ")
    if scheme.lower() == "bearer" and given.strip():
        return None, given.strip()
    if scheme.lower() == "basic":
        try:
            handle, _, secret = base64.b64decode(given.strip(), validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            handle = secret = ""
        if handle and secret:
            return handle, secret
    raise Unauthenticated(
        "no-token", "Say who you are: KAGGLE_USERNAME is your handle here, KAGGLE_KEY an API token from /account."
    )


def authenticated_caller(
    request: Request, begin: Transactions, moment: Now, counted: AppRateLimiter, client: CurrentBrowser
) -> Caller:
    """Who asks: never a browser's cookie, so nothing can be sent in somebody's name from another site's page."""
    handle, secret = credentials_of(request.headers.get("authorization", ""))

    def look(session: Session) -> Caller:
        caller = caller_of_token(session, secret, moment)
        if handle is not None and handle.lower() != caller.account.handle.lower():
            raise Unauthenticated("bad-token", f"This token is not one of {handle!r}: KAGGLE_USERNAME is your handle.")
        return caller

    found = identify_caller(look, begin, counted, client)
    if found is None:
        raise AssertionError("a token has an owner")
    return found


def reader(caller: Annotated[Caller, Depends(authenticated_caller)]) -> Account:
    """Who reads."""
    api_tokens.require_scope(caller.scopes, "read")
    return caller.account


def submitter(caller: Annotated[Caller, Depends(authenticated_caller)]) -> Account:
    """Who uploads."""
    api_tokens.require_scope(caller.scopes, "submit")
    return caller.account


Reader = Annotated[Account, Depends(reader)]
Submitter = Annotated[Account, Depends(submitter)]


def absolute_url_of(request: Request, path: str, settings: Settings) -> str:
    """The whole address of a path here, as this client reaches us: ``public_url`` where it came by that, which also
    knows of TLS and of a prefix before us, and otherwise the host that it named."""
    named = request.base_url
    here = settings.public_url if urlsplit(settings.public_url).netloc == named.netloc else str(named).rstrip("/")
    return f"{here}{path}"
