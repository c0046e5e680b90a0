"""The session cookie: its name, reading, setting and deleting it."""

from fastapi import Request, Response

from scorer.accounts.sessions import SESSION_LIFETIME
from scorer.settings import Settings


def is_secure(request: Request) -> bool:
    """Whether the site is reached by https; then cookies are marked ``Secure``."""
    settings: Settings = request.app.state.settings
    return request.url.scheme == "https" or settings.public_url.startswith("https:")


def cookie_name(request: Request, what: str = "kennel") -> str:
    """The cookie's name; by https with the prefix ``__Host-``, so that no other host and no plain http can set it."""
    return f"__Host-{what}" if is_secure(request) else what


def session_secret(request: Request) -> str | None:
    """The session secret in the request's cookie."""
    return request.cookies.get(cookie_name(request))


def set_session_cookie(response: Response, request: Request, secret: str) -> None:
    """Set the session cookie: hidden from scripts (``HttpOnly``), not sent with forms of other sites (``SameSite``)."""
    response.set_cookie(
        cookie_name(request),
        secret,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )


def delete_session_cookie(response: Response, request: Request) -> None:
    """Delete the session cookie."""
    response.delete_cookie(cookie_name(request), secure=is_secure(request), httponly=True, samesite="lax")
