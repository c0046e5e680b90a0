"""Signing in with an OpenID Connect issuer: to it and back."""

from fastapi import APIRouter, Request
from fastapi.responses import Response

from api import cookies
from api.deps import AppSettings
from api.entrance import Door
from api.oidc import Issuer, Journey
from api.pages.door import HOME, onward
from api.pages.rendering import see
from scorer.settings import Settings

router = APIRouter(prefix="/signin/oidc", include_in_schema=False)
COOKIE = "kennel-oidc"
SECONDS = 600
"""How long somebody may take at the issuer's."""


def _issuer(settings: Settings) -> Issuer:
    return Issuer(settings, f"{settings.public_url}/signin/oidc/return")


@router.get("")
def depart(request: Request, settings: AppSettings, next: str = HOME) -> Response:  # noqa: A002
    """Send the browser to the issuer."""
    journey = Journey.begin(onward(next))
    response = see(_issuer(settings).departure(journey))
    response.set_cookie(
        cookies.cookie_name(request, COOKIE),
        journey.packed,
        max_age=SECONDS,
        secure=cookies.is_secure(request),
        httponly=True,
        samesite="lax",
    )
    return response


@router.get("/return")
def arrive(request: Request, settings: AppSettings, door: Door) -> Response:
    """Open a session for whoever the issuer vouches for."""
    name = cookies.cookie_name(request, COOKIE)
    journey = Journey.unpacked(request.cookies.get(name, ""))
    secret = door.vouched(_issuer(settings).arrival(journey, request.query_params, door.now))
    response = see(onward(journey.onward))
    response.delete_cookie(name, secure=cookies.is_secure(request), httponly=True, samesite="lax")
    cookies.keep(response, request, secret)
    return response
