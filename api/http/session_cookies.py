"""The cookies of a browser: its session, its device for the next sign-in, a rating link, and the page to return to
after an account is set up."""

import re
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote, unquote

from fastapi import Request, Response

from scorer.accounts.sessions import DEVICE_LIFETIME, SESSION_LIFETIME
from scorer.settings import Settings

DEVICE_COOKIE = "kennel-device"
RATER_COOKIE = "kennel-rater"
NEXT_COOKIE = "kennel-next"
NEXT_LIFETIME = timedelta(days=3)
"""The same as for the link that confirms an address."""
SECRET = re.compile(r"[\w-]{43}", re.ASCII)
"""256 bits in base64url."""


@dataclass(frozen=True)
class SessionCookies:
    """The secrets of a new session and of its browser (``device``)."""

    session: str
    device: str
    awaits_second_factor: bool = False


def is_secure(request: Request) -> bool:
    """Whether the site uses https; then cookies are marked ``Secure``."""
    settings: Settings = request.app.state.settings
    return request.scope["scheme"] == "https" or settings.public_url.startswith("https:")


def cookie_name(request: Request, what: str = "kennel") -> str:
    """With https, the name has the prefix ``__Host-``: neither another host nor plain http can set the cookie."""
    return f"__Host-{what}" if is_secure(request) else what


def session_secret(request: Request) -> str | None:
    return request.cookies.get(cookie_name(request))


def device_secret(request: Request) -> str | None:
    secret = request.cookies.get(cookie_name(request, DEVICE_COOKIE), "")
    return secret if SECRET.fullmatch(secret) else None


def rater_secret(request: Request) -> str | None:
    """The secret of the rating link that the request's browser opened."""
    return request.cookies.get(cookie_name(request, RATER_COOKIE))


def set_next_cookie(response: Response, request: Request, path: str) -> None:
    """Remember the page that a person opened before they had to set something up."""
    set_cookie(response, request, NEXT_COOKIE, value=quote(path), lifetime=NEXT_LIFETIME)


def next_path(request: Request) -> str:
    """The remembered page, unchecked; may be empty."""
    return unquote(request.cookies.get(cookie_name(request, NEXT_COOKIE), ""))


def set_session_cookies(response: Response, request: Request, secrets: SessionCookies) -> None:
    """Set the cookies with ``HttpOnly`` (hidden from scripts) and ``SameSite`` (not sent with forms of other sites)."""
    set_cookie(response, request, "kennel", value=secrets.session, lifetime=SESSION_LIFETIME)
    set_cookie(response, request, DEVICE_COOKIE, value=secrets.device, lifetime=DEVICE_LIFETIME)


def set_cookie(response: Response, request: Request, name: str, *, value: str, lifetime: timedelta | None) -> None:
    """Set a cookie that is hidden from scripts. Without a ``lifetime``, it lasts until the browser is closed."""
    response.set_cookie(
        cookie_name(request, name),
        value,
        max_age=int(lifetime.total_seconds()) if lifetime else None,
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )


def delete_session_cookie(response: Response, request: Request) -> None:
    """Delete the session's cookie. The browser keeps its device cookie."""
    delete_cookie(response, request, "kennel")


def delete_cookies(response: Response, request: Request) -> None:
    for name in ("kennel", DEVICE_COOKIE):
        delete_cookie(response, request, name)


def delete_cookie(response: Response, request: Request, name: str) -> None:
    response.delete_cookie(cookie_name(request, name), secure=is_secure(request), httponly=True, samesite="lax")
