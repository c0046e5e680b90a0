"""Authentication of callers: an API token, a browser's session cookie with its CSRF token, or a rating link."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from fastapi.dependencies.models import Dependant
from fastapi.routing import RouteContext

from api.http import dependencies, session_cookies
from api.http.csrf import SAFE_METHODS


def depends_on(route: RouteContext, function: Callable[..., Any]) -> bool:
    """True if ``function`` is among the route's dependencies, including nested ones."""
    return any(dependant.call is function for dependant in _walk_dependencies(route.dependant))


def _walk_dependencies(dependant: Dependant) -> Iterator[Dependant]:
    for part in dependant.dependencies:
        yield part
        yield from _walk_dependencies(part)


TOKEN, SESSION, CSRF, RATING_LINK = "token", "session", "csrf", "rating-link"
SCHEMES: Final[Mapping[str, Any]] = {
    TOKEN: {"type": "http", "scheme": "bearer", "description": "An API token: `Authorization: Bearer TOKEN`."},
    SESSION: {
        "type": "apiKey",
        "in": "cookie",
        "name": "kennel",
        "description": "The session from `POST /api/v1/session`. With https, the cookie is named `__Host-kennel`.",
    },
    CSRF: {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRF-Token",
        "description": "Required with the session cookie for every change. `POST /api/v1/session` returns it.",
    },
    RATING_LINK: {
        "type": "apiKey",
        "in": "cookie",
        "name": session_cookies.RATER_COOKIE,
        "description": (
            "The secret of a rating link: the part after `#`. With https, the cookie is named `__Host-kennel-rater`."
        ),
    },
}

Requirement = dict[str, list[str]]


def build_security(route: RouteContext, method: str) -> list[Requirement]:
    """The alternative requirements of an operation. The list is empty if callers are never identified, and contains an
    empty requirement if visitors may also call the operation."""
    if depends_on(route, session_cookies.rater_secret):
        return [{RATING_LINK: []}]
    if not depends_on(route, dependencies.claimed_viewer):
        return []
    session: Requirement = {SESSION: []} if method in SAFE_METHODS else {SESSION: [], CSRF: []}
    token: Requirement = {TOKEN: []}
    alternatives = [session] if depends_on(route, dependencies.signed_in) else [token, session]
    return alternatives if depends_on(route, dependencies.known_viewer) else [*alternatives, {}]
