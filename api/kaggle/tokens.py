"""Token introspection, the client's first request when it has a token; and the answer to unknown methods."""

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
from api.kaggle.protocol import KaggleRouter, error_response
from api.kaggle.schemas import IntrospectRequest, IntrospectResponse
from scorer.errors import Forbidden, Unauthenticated

router = KaggleRouter()


@router.post("/security.OAuthService/IntrospectToken")
def introspect_token(
    body: IntrospectRequest, begin: Transactions, now: Now, rates: AppRateLimiter, browser: CurrentBrowser
) -> IntrospectResponse:
    """The owner of a token; an unknown one is not active. Unknown tokens count against a rate limit."""

    def find_caller(session: Session) -> Caller:
        return caller_of_token(session, body.token, now)

    try:
        caller = identify_caller(find_caller, begin, rates, browser, policy="nobody")
    except (Forbidden, Unauthenticated):
        caller = None
    if caller is None:
        return IntrospectResponse(active=False)
    return IntrospectResponse(active=True, username=caller.account.handle)


@router.post("/{service}Service/{method}")
def unknown_method(service: str, method: str) -> JSONResponse:
    """404 with a message for methods that this service does not have."""
    return error_response(404, f"This service has no {method}; it knows competitions, their entries, boards and files.")
