"""The errors of operations: problems (RFC 9457) as components of the OpenAPI document."""

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Final

from fastapi.routing import RouteContext

from api.http import dependencies, session_cookies
from api.http.csrf import SAFE_METHODS
from api.http.tus import TusRoute
from api.openapi.security import depends_on

PROBLEM_TYPE: Final = "application/problem+json"
SLUGS: Final[Mapping[str, list[str]]] = json.loads((files("api.openapi") / "problem_slugs.json").read_text())
"""The slugs of problems by status. ``make reference`` generates them from the code that raises them."""
TUS_STATUSES: Final = (400, 412, 460)
OF_BYTES: Final = (408, 413, 507)
TITLES: Final = {460: "Checksum Mismatch"}

SCHEMA: Final[Mapping[str, Any]] = {
    "title": "Problem",
    "description": "An error (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {
            "type": "string",
            "pattern": "^urn:kennel:problem:",
            "description": "A stable name of the problem for programs.",
        },
        "title": {
            "type": "string",
            "description": "A description of the problem for people.",
        },
        "status": {"type": "integer", "description": "The HTTP status of the response."},
        "faults": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Each file or field with a problem, and what the problem is.",
        },
        "request_id": {"type": "string", "description": "The ID of the request in the operators' log."},
    },
    "additionalProperties": True,
    "examples": [
        {"type": "urn:kennel:problem:no-competition", "title": "There is no competition 'dogs'.", "status": 404}
    ],
}


def component_name(status: int | str) -> str:
    return f"Problem{status}"


def components() -> dict[str, Any]:
    statuses = sorted({*map(int, SLUGS), *OF_BYTES})
    return {component_name(status): _component(status) for status in statuses} | {
        "Problem": _answer("An internal error.")
    }


def _component(status: int) -> dict[str, Any]:
    title = TITLES.get(status) or HTTPStatus(status).phrase
    slugs = ", ".join(f"`{slug}`" for slug in SLUGS.get(str(status), ()))
    return _answer(f"{title}. The type ends with one of: {slugs}." if slugs else f"{title}.")


def _answer(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {PROBLEM_TYPE: {"schema": schema}}}


def refusals(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route that raises errors with these statuses itself."""
    return {status: {"$ref": f"#/components/responses/{component_name(status)}"} for status in statuses}


def build_responses(route: RouteContext, method: str, *, has_body: bool) -> dict[str, Any]:
    names = {str(status): component_name(status) for status in sorted(set(_statuses(route, method, has_body)))}
    names["5XX"] = "Problem"
    return {status: {"$ref": f"#/components/responses/{name}"} for status, name in names.items()}


def _statuses(route: RouteContext, method: str, has_body: bool) -> Iterator[int]:
    yield from (422, 503)
    if depends_on(route, dependencies.claimed_viewer) or method not in SAFE_METHODS:
        yield from (401, 403, 429)  # unsafe methods without a caller: signing in and up
    if depends_on(route, session_cookies.rater_secret):
        yield 401
    if "{" in (route.path_format or "") or method not in SAFE_METHODS:  # bodies can also name things that do not exist
        yield 404
    if method not in SAFE_METHODS:
        yield 409
    if has_body:
        yield from OF_BYTES
    if isinstance(route.original_route, TusRoute):
        yield from TUS_STATUSES
