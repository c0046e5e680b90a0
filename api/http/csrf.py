"""CSRF protection: a token bound to the session, and a check that refuses cross-site requests."""

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
    """An HMAC of the session's secret: the token does not reveal the secret."""
    return hmac.new(secret.encode(), b"csrf", hashlib.sha256).hexdigest()


def require_csrf(secret: str, token: str | None) -> None:
    """``Forbidden`` unless ``token`` is the CSRF token of the session with this secret."""
    if not hmac.compare_digest(csrf_token(secret).encode(), (token or "").encode()):
        raise Forbidden("csrf", "This form has expired. Reload the page and submit it again.")


async def refuse_cross_site(request: Request) -> None:
    """``Forbidden`` for a state-changing request that a page of another site sent: by ``Sec-Fetch-Site``, or by
    ``Origin`` if that is missing. Requests with an API token pass: browsers never add one on their own."""
    if request.method in SAFE_METHODS or "authorization" in request.headers:
        return
    site = request.headers.get("sec-fetch-site")
    origin = request.headers.get("origin")
    if site is not None:
        same_site = site in {"same-origin", "none"}
    else:
        settings: Settings = request.app.state.settings
        same_site = origin is None or urlsplit(origin).netloc in {
            request.headers.get("host"),
            urlsplit(settings.public_url).netloc,
        }
    if not same_site:
        raise Forbidden("cross-site", "A page of another site sent this request. Use the pages of this site instead.")


async def received_csrf_token(request: Request) -> str | None:
    """The CSRF token from the header or the form. The form is read only if the request has a session cookie."""
    if request.method in SAFE_METHODS or session_secret(request) is None or "x-csrf-token" in request.headers:
        return request.headers.get("x-csrf-token")
    return forms.text(await forms.read_fields(request), CSRF_FIELD) if forms.is_form(request) else None
