"""CSRF protection: a token bound to the session, and refusal of cross-site requests."""

import hashlib
import hmac
from urllib.parse import urlsplit

from fastapi import Request

from api.http import forms
from api.http.session_cookies import session_secret
from scorer.errors import Forbidden
from scorer.settings import Settings

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
CSRF_FIELD = "csrf"
"""The hidden field of every form; scripts send the header ``X-CSRF-Token`` instead."""


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
    if request.method in SAFE_METHODS or "authorization" in request.headers:
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


async def received_csrf_token(request: Request) -> str | None:
    """The token that a request carries, in its header or in its form. Only a browser's cookie needs one."""
    if request.method in SAFE_METHODS or session_secret(request) is None or "x-csrf-token" in request.headers:
        return request.headers.get("x-csrf-token")
    return forms.text(await forms.fields_of(request), CSRF_FIELD) if forms.is_form(request) else None
