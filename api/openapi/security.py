"""How callers prove who they are: by an API token, or by the session cookie of a browser with its CSRF token."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi.routing import RouteContext

from api.http import dependencies
from api.http.csrf import SAFE_METHODS
from api.openapi.route_dependencies import depends_on

TOKEN, SESSION, CSRF = "token", "session", "csrf"
SCHEMES: Final[Mapping[str, Any]] = {
    TOKEN: {"type": "http", "scheme": "bearer", "description": "An API token: `Authorization: Bearer TOKEN`."},
    SESSION: {
        "type": "apiKey",
        "in": "cookie",
        "name": "kennel",
        "description": "The session that `POST /api/v1/session` begins. By https the cookie is named `__Host-kennel`.",
    },
    CSRF: {
        "type": "apiKey",
        "in": "header",
        "name": "X-CSRF-Token",
        "description": "Goes with the session cookie whenever something is changed; `POST /api/v1/session` gives it.",
    },
}

Requirement = dict[str, list[str]]


def security_of(route: RouteContext, method: str) -> list[Requirement]:
    """The alternatives by which an operation may be called; empty if it asks nobody who they are, and with an empty one
    among them if visitors may call it, too."""
    if not depends_on(route, dependencies.claimed_caller):
        return []
    session: Requirement = {SESSION: []} if method in SAFE_METHODS else {SESSION: [], CSRF: []}
    token: Requirement = {TOKEN: []}
    alternatives = [session] if depends_on(route, dependencies.signed_in) else [token, session]
    return alternatives if depends_on(route, dependencies.known_caller) else [*alternatives, {}]
