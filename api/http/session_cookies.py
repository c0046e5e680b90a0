"""The session cookie, and the proof against forged requests that belongs to it."""

from fastapi import Request, Response

from scorer.accounts.sessions import SESSION_LIFETIME
from scorer.settings import Settings


def is_secure(request: Request) -> bool:
    """Whether people come by https: then cookies are for https alone."""
    settings: Settings = request.app.state.settings
    return request.url.scheme == "https" or settings.public_url.startswith("https:")


def cookie_name(request: Request, what: str = "kennel") -> str:
    """``__Host-``: no other host and no page without https can set it."""
    return f"__Host-{what}" if is_secure(request) else what


def session_secret(request: Request) -> str | None:
    """The secret that the browser has of its session."""
    return request.cookies.get(cookie_name(request))


def set_session_cookie(response: Response, request: Request, secret: str) -> None:
    """Let the browser keep the secret of its session, out of reach of scripts and of other sites' forms."""
    response.set_cookie(
        cookie_name(request),
        secret,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )


def delete_session_cookie(response: Response, request: Request) -> None:
    """Let the browser forget its session."""
    response.delete_cookie(cookie_name(request), secure=is_secure(request), httponly=True, samesite="lax")
