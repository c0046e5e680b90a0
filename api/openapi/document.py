"""The OpenAPI document of the application."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts

from api.openapi import examples, problem_responses, security
from api.openapi.examples import describe_parameter

DESCRIPTION: Final = """\
This API offers everything that the pages and the `kennel` command can do. Errors are `application/problem+json` (RFC
9457) with a stable `type`. To check whether a resource has changed, send its `ETag` as `If-None-Match`.
"""
HEADLINE: Final = re.compile(r".*?(?=[.:;](?:\s|$))", re.DOTALL)


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document with the service's errors, security requirements, parameter descriptions and examples."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=DESCRIPTION,
        routes=app.routes,
        servers=[{"url": "/", "description": "This service."}],
        license_info={"name": "MIT", "identifier": "MIT"},
    )
    components = document["components"]
    examples.add_examples(components["schemas"])
    components["schemas"]["Problem"] = problem_responses.SCHEMA
    components["responses"] = problem_responses.components()
    components["securitySchemes"] = security.SCHEMES
    routes = {(route.path_format, method): route for route in _api_routes(app) for method in route.methods or ()}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            _describe(operation, routes[path, method.upper()], method.upper())
    _drop_unused(document)
    return document


def _api_routes(app: FastAPI) -> Iterator[RouteContext]:
    for route in iter_route_contexts(app.routes):
        if isinstance(route.original_route, APIRoute) and route.include_in_schema:
            yield route


def _describe(operation: dict[str, Any], route: RouteContext, method: str) -> None:
    errors: Mapping[str, Any] = problem_responses.build_responses(route, method, has_body="requestBody" in operation)
    operation["summary"] = _headline(operation["description"])
    operation["responses"] = {**operation["responses"], **errors}
    operation["security"] = security.build_security(route, method)
    for parameter in operation.get("parameters", ()):
        describe_parameter(parameter)


def _drop_unused(document: dict[str, Any]) -> None:
    """Remove FastAPI's error schemas, and errors that no operation has."""
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    used = {answer.get("$ref") for operation in operations for answer in operation["responses"].values()}
    answers = document["components"]["responses"]
    for name in [name for name in answers if f"#/components/responses/{name}" not in used]:
        del answers[name]


def _headline(description: str) -> str:
    """The beginning of a description, up to its first full stop, colon or semicolon. FastAPI would use the function's
    name."""
    match = HEADLINE.match(description)
    return (match[0] if match else description).replace("\n", " ")
