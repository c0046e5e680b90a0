"""The session cookie, and the proof against forged requests that belongs to it."""

import hashlib
import hmac
from urllib.parse import urlsplit

from fastapi import Request, Response

from api import forms
from scorer.accounts.sessions import SESSION_LIFETIME
from scorer.errors import Forbidden
from scorer.settings import Settings

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
FIELD = "csrf"
"""The hidden field of every form; scripts send the header ``X-CSRF-Token`` instead."""


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


def keep(response: Response, request: Request, secret: str) -> None:
    """Let the browser keep the secret of its session, out of reach of scripts and of other sites' forms."""
    response.set_cookie(
        cookie_name(request),
        secret,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        secure=is_secure(request),
        httponly=True,
        samesite="lax",
    )


def forget(response: Response, request: Request) -> None:
    """Let the browser forget its session."""
    response.delete_cookie(cookie_name(request), secure=is_secure(request), httponly=True, samesite="lax")


def csrf_token(secret: str) -> str:
    """What proves that a form was made for this session: only its own pages can tell, and it does not tell the
    secret."""
    return hmac.new(secret.encode(), b"csrf", hashlib.sha256).hexdigest()


def require_csrf(secret: str, given: str | None) -> None:
    """``Forbidden`` unless ``given`` is the session's token."""
    if not hmac.compare_digest(csrf_token(secret).encode(), (given or "").encode()):
        raise Forbidden("csrf", "This form is out of date; please reload the page and send it again.")


async def refuse_cross_site(request: Request) -> None:
    """Refuse what a browser sends on behalf of another site's page. API tokens need no such care: no browser adds
    them by itself."""
    if request.method in SAFE or "authorization" in request.headers:
        return
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        ours = site in {"same-origin", "none"}
    else:
        settings: Settings = request.app.state.settings
        ours = origin is None or urlsplit(origin).netloc in {
            request.headers.get("host"),
            urlsplit(settings.public_url).netloc,
        }
    if not ours:
        raise Forbidden("cross-site", "This request comes from another site's page.")


async def given_csrf(request: Request) -> str | None:
    """The token that a request carries, in its header or in its form. Only a browser's cookie needs one."""
    if request.method in SAFE or session_secret(request) is None or "x-csrf-token" in request.headers:
        return request.headers.get("x-csrf-token")
    return forms.text(await forms.fields_of(request), FIELD) if forms.is_form(request) else None
