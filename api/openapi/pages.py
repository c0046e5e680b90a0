"""The reference of the API as a page, made from the OpenAPI document: groups of operations, and the fields of their
schemas; an introduction for language models.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response

from api.http.dependencies import AppSettings
from api.http.etags import etag_of, is_known
from api.http.routing import Router
from api.rendering.templates import cached_page, not_modified, render


class Parameter(NamedTuple):
    """A parameter of an operation; ``place`` is path, query or header."""

    name: str
    place: str
    is_required: bool
    text: str


class Answer(NamedTuple):
    """An answer of an operation: its status, what it means, and the type of what is in it (empty: nothing)."""

    status: str
    text: str
    content: str


class Operation(NamedTuple):
    """An operation of the API; ``callers`` says who may call it."""

    name: str
    method: str
    path: str
    text: str
    callers: str
    parameters: Sequence[Parameter]
    body: str
    answers: Sequence[Answer]


class Field(NamedTuple):
    """A field of a schema."""

    name: str
    type: str
    is_required: bool
    text: str


def operations_by_tag(document: Mapping[str, Any]) -> dict[str, list[Operation]]:
    """The operations in groups, by tag, in the order of the document."""
    groups: dict[str, list[Operation]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].append(_operation(document, method.upper(), path, operation=operation))
    return {tag: groups[tag] for tag in sorted(groups)}


def fields_by_schema(document: Mapping[str, Any]) -> dict[str, list[Field]]:
    """The fields of every schema that is an object."""
    return {
        name: [
            Field(field, type_of(described), field in schema.get("required", ()), described.get("description", ""))
            for field, described in schema["properties"].items()
        ]
        for name, schema in sorted(document["components"]["schemas"].items())
        if "properties" in schema
    }


def type_of(schema: Mapping[str, Any]) -> str:
    """A schema in a few words: ``list of TeamView``, ``string or null``."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for combined in ("anyOf", "oneOf", "allOf"):
        if combined in schema:
            return " or ".join(dict.fromkeys(type_of(each) for each in schema[combined]))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"“{value}”" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if schema.get("format") == "binary":
        return "file"
    return str(schema.get("format") or schema.get("type") or "anything")


def _operation(document: Mapping[str, Any], method: str, path: str, *, operation: Mapping[str, Any]) -> Operation:
    parameters = [
        Parameter(each["name"], each["in"], each.get("required", False), each.get("description", ""))
        for each in operation.get("parameters", ())
    ]
    body = _content(operation.get("requestBody", {}))
    text = operation.get("description", "")
    callers = _callers(operation["security"])
    name = operation["operationId"]
    return Operation(name, method, path, text, callers, parameters, body, list(_answers(document, operation)))


def _answers(document: Mapping[str, Any], operation: Mapping[str, Any]) -> Iterator[Answer]:
    shared = document["components"]["responses"]
    for status, described in sorted(operation["responses"].items()):
        answer = shared[described["$ref"].rpartition("/")[2]] if "$ref" in described else described
        if status != "5XX":
            yield Answer(status, answer["description"].partition(".")[0], _content(answer))


def _content(described: Mapping[str, Any]) -> str:
    contents = described.get("content", {})
    kinds = {media_type: type_of(content.get("schema", {})) for media_type, content in contents.items()}
    return ", ".join(
        kind if media_type.endswith("json") else f"{kind} ({media_type})" for media_type, kind in kinds.items()
    )


def _callers(security: Sequence[Mapping[str, Any]]) -> str:
    if not security:
        return "anybody"
    if {} in security:
        return "anybody; with a token or session, as that account"
    return "with a token or session" if any("token" in each for each in security) else "with a session only"


router = Router(include_in_schema=False)


@router.api_route("/api-reference", methods=["GET", "HEAD"])
def show_api_reference(request: Request) -> Response:
    """Every operation and every schema, for everybody."""
    page, etag = _page_of(request.app)
    return not_modified(etag) if is_known(request, etag) else cached_page(page, etag)


@lru_cache(maxsize=1)
def _page_of(app: FastAPI) -> tuple[bytes, str]:
    """The page and its ETag; the same for everybody as long as the process lives."""
    document = app.openapi()
    page = render(
        "openapi/show.html",
        viewer=None,
        show_account_nav=False,
        operations=operations_by_tag(document),
        schemas=fields_by_schema(document),
        document=app.openapi_url,
    ).encode()
    return page, etag_of(page)


@router.api_route("/llms.txt", methods=["GET", "HEAD"])
def show_llms_txt(request: Request, settings: AppSettings) -> Response:
    """What this service is and how a program uses it, as language models read it (llmstxt.org)."""
    return PlainTextResponse(render("openapi/llms.txt", site=settings.public_url, document=request.app.openapi_url))
