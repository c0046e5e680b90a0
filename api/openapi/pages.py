"""The reference of the API as a page, made from the OpenAPI document; an introduction for language models."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response

from api.http.dependencies import AppSettings
from api.http.etags import etag_of, is_known
from api.http.routing import Router
from api.rendering.templates import cached_page, not_modified, render

Operation = tuple[str, str, Mapping[str, Any]]
"""A method, a path, and what the document says of them."""


def operations_by_tag(document: Mapping[str, Any]) -> dict[str, list[Operation]]:
    """The operations in groups, by tag, in the order of the document."""
    groups: dict[str, list[Operation]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].append((method.upper(), path, operation))
    return dict(sorted(groups.items()))


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


def content_of(described: Mapping[str, Any]) -> str:
    """The types of a body or an answer in words; empty without one."""
    contents = described.get("content", {})
    kinds = {media_type: type_of(content.get("schema", {})) for media_type, content in contents.items()}
    return ", ".join(
        kind if media_type.endswith("json") else f"{kind} ({media_type})" for media_type, kind in kinds.items()
    )


def callers_of(security: Sequence[Mapping[str, Any]]) -> str:
    """Who may call an operation, in words."""
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
        components=document["components"],
        type_of=type_of,
        content_of=content_of,
        callers_of=callers_of,
        document=app.openapi_url,
    ).encode()
    return page, etag_of(page)


@router.api_route("/llms.txt", methods=["GET", "HEAD"])
def show_llms_txt(request: Request, settings: AppSettings) -> Response:
    """What this service is and how a program uses it, as language models read it (llmstxt.org)."""
    return PlainTextResponse(render("openapi/llms.txt", site=settings.public_url, document=request.app.openapi_url))
