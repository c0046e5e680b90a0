"""Paths of this site: safe redirects, and the paths that are open before a required second factor is set up."""

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from fastapi import Request
from starlette.datastructures import URL

from api.http import session_cookies

HOME = "/"
LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\s]*")
SIGN_IN_PATHS = frozenset(
    {"/signin", "/signin/link", "/signin/second-factor", "/signup", "/reset", "/new-password", "/confirm"}
)
SETUP_PATHS = frozenset({"/account", "/signout", "/api/v1/me", "/api/v1/session", "/api/v1/me/recovery-codes"})
SETUP_FOLDERS = ("/account/second-factor", "/api/v1/me/second-factors", "/api/v1/session/")


def path_with_query(url: URL | SplitResult) -> str:
    return f"{url.path}?{url.query}" if url.query else url.path


def safe_redirect_path(wanted: str) -> str:
    """``wanted`` if it is a path of this site, otherwise the home page. Prevents open redirects."""
    return wanted if LOCAL_PATH.fullmatch(wanted) else HOME


def referring_path(request: Request) -> str:
    """The page of this site that sent the request, or for sign-in pages the page they lead to; otherwise the home
    page."""
    referrer = urlsplit(request.headers.get("referer", ""))
    if referrer.netloc != request.headers.get("host"):
        return HOME
    if referrer.path in SIGN_IN_PATHS:
        return safe_redirect_path(dict(parse_qsl(referrer.query)).get("next", HOME))
    return safe_redirect_path(path_with_query(referrer))


def remembered_path(request: Request) -> str:
    """The page that a person opened before they had to set up their account; may be empty."""
    path = session_cookies.next_path(request)
    return path if safe_redirect_path(path) == path != HOME else ""


def is_setup_path(path: str) -> bool:
    return path in SETUP_PATHS or path.startswith(SETUP_FOLDERS)
