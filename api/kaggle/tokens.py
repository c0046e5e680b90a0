"""Whose token it is: what the client asks before anything else when it has one."""

from fastapi import APIRouter
from fastapi.responses import JSONResponse
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
from api.kaggle.protocol import KaggleRoute, error_response
from api.kaggle.schemas import IntrospectRequest, IntrospectResponse
from scorer.errors import Unauthenticated

router = APIRouter(route_class=KaggleRoute)


@router.post("/security.OAuthService/IntrospectToken")
def introspect_token(
    body: IntrospectRequest, begin: Transactions, now: Now, counted: AppRateLimiter, client: CurrentBrowser
) -> IntrospectResponse:
    """The owner of a token; an unknown one is not active. Guesses are counted."""

    def look(session: Session) -> Caller:
        return caller_of_token(session, body.token, now)

    try:
        found = identify_caller(look, begin, counted, client)
    except Unauthenticated:
        found = None
    if found is None:
        return IntrospectResponse(active=False)
    return IntrospectResponse(active=True, username=found.account.handle, user_id=found.account.id)


@router.post("/{service}Service/{method}")
def unknown_method(service: str, method: str) -> JSONResponse:
    """What is not spoken here is said so, and not as a page that is missing."""
    return error_response(404, f"This service has no {method}; it knows competitions, their entries, boards and files.")
