"""Paths of this site: those that a person is led on to, and those open to somebody who still has to set a second factor
up: to see their account, do that, and sign out."""

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
"""Paths that begin like this are also open."""


def path_with_query(url: URL | SplitResult) -> str:
    """What an address has after its host, but for the fragment."""
    return f"{url.path}?{url.query}" if url.query else url.path


def safe_redirect_path(wanted: str) -> str:
    """``wanted`` if it is a path of this site, else the home page: no open redirect."""
    return wanted if LOCAL_PATH.fullmatch(wanted) else HOME


def referring_path(request: Request) -> str:
    """The page of this site that the request came from, or that this page would have led to; else the home page."""
    referrer = urlsplit(request.headers.get("referer", ""))
    if referrer.netloc != request.headers.get("host"):
        return HOME
    if referrer.path in SIGN_IN_PATHS:
        return safe_redirect_path(dict(parse_qsl(referrer.query)).get("next", HOME))
    return safe_redirect_path(path_with_query(referrer))


def remembered_path(request: Request) -> str:
    """The page that a person wanted before they had to set their account up; empty without one."""
    path = session_cookies.next_path(request)
    return path if safe_redirect_path(path) == path != HOME else ""


def is_setup_path(path: str) -> bool:
    """Whether a request's path belongs to setting a second factor up."""
    return path in SETUP_PATHS or path.startswith(SETUP_FOLDERS)
