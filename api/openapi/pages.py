"""The API reference as a page, built from the OpenAPI document, and an introduction for language models."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response

from api.http.dependencies import AppSettings
from api.http.etags import compute_etag, is_known
from api.http.routing import Router
from api.openapi.security import RATING_LINK, TOKEN
from api.rendering.templates import cached_page, not_modified, render

Operation = tuple[str, str, Mapping[str, Any]]
"""A method, a path and their description in the document."""


def operations_by_tag(document: Mapping[str, Any]) -> dict[str, list[Operation]]:
    groups: dict[str, list[Operation]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            groups[operation["tags"][0]].append((method.upper(), path, operation))
    return dict(sorted(groups.items()))


def describe_type(schema: Mapping[str, Any]) -> str:
    """A short description of a schema: ``list of TeamView``, ``string or null``."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    for combined in ("anyOf", "oneOf", "allOf"):
        if combined in schema:
            return " or ".join(dict.fromkeys(describe_type(part) for part in schema[combined]))
    if "enum" in schema or "const" in schema:
        return ", ".join(f"“{value}”" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {describe_type(schema.get('items', {}))}"
    if schema.get("format") == "binary":
        return "file"
    return str(schema.get("format") or schema.get("type") or "anything")


def describe_content(described: Mapping[str, Any]) -> str:
    """A short description of the types of a body or response; may be empty."""
    contents = described.get("content", {})
    kinds = {media_type: describe_type(content.get("schema", {})) for media_type, content in contents.items()}
    return ", ".join(
        kind if media_type.endswith("json") else f"{kind} ({media_type})" for media_type, kind in kinds.items()
    )


def describe_callers(security: Sequence[Mapping[str, Any]]) -> str:
    """How callers of an operation authenticate."""
    if not security:
        return "not needed"
    if {} in security:
        return "optional, with a token or session"
    schemes = {scheme for requirement in security for scheme in requirement}
    if RATING_LINK in schemes:
        return "rating link"
    return "token or session" if TOKEN in schemes else "session only"


router = Router(include_in_schema=False)


@router.api_route("/api-reference", methods=["GET", "HEAD"])
def show_api_reference(request: Request) -> Response:
    page, etag = _render_document(request.app)
    return not_modified(etag) if is_known(request, etag) else cached_page(page, etag)


@lru_cache(maxsize=1)
def _render_document(app: FastAPI) -> tuple[bytes, str]:
    """The page and its ETag, which are the same for everybody during the life of the process."""
    document = app.openapi()
    page = render(
        "openapi/show.html",
        viewer=None,
        show_account_nav=False,
        operations=operations_by_tag(document),
        components=document["components"],
        describe_type=describe_type,
        describe_content=describe_content,
        describe_callers=describe_callers,
        document=app.openapi_url,
    ).encode()
    return page, compute_etag(page)


@router.api_route("/llms.txt", methods=["GET", "HEAD"])
def show_llms_txt(request: Request, settings: AppSettings) -> Response:
    """An introduction to the service for language models (llmstxt.org)."""
    return PlainTextResponse(render("openapi/llms.txt", site=settings.public_url, document=request.app.openapi_url))
