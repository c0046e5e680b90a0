"""``docs/reference/api.md``: every operation of the API, from its OpenAPI document."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from api.main import create_app
from api.openapi.pages import Operation, operations_by_tag
from deploy.documentation.markdown import code, page, table, text
from scorer.settings import Settings


@cache
def openapi() -> dict[str, Any]:
    """The API's OpenAPI document, made without a database or broker."""
    with TemporaryDirectory(prefix="kennel-openapi-") as folder:
        addresses = {"database_url": "postgresql://x/x", "redis_url": "redis://x", "blob_url": Path(folder).as_uri()}
        return create_app(Settings.model_validate(addresses)).openapi()


def operations_page() -> str:
    """The page: how to call the API, then a section for each group of operations."""
    return page(
        "The API",
        "Send `Authorization: Bearer TOKEN` with each request. Bodies are JSON unless stated otherwise. Errors "
        "are [problems](problems.md). A running service describes its API completely, with all fields, at "
        "`/api/v1/openapi.json`.",
        *(part for tag, group in operations_by_tag(openapi()).items() for part in _group(tag, group)),
    )


def paths() -> frozenset[str]:
    """The paths of all operations, with parameters in ``{}``."""
    return frozenset(openapi()["paths"])


def _group(tag: str, operations: list[Operation]) -> Iterator[str]:
    yield f"## {tag.capitalize()}"
    for method, path, operation in operations:
        yield f"### {code(f'{method} {path}')}"
        yield "\n\n".join(text(paragraph) for paragraph in operation.get("description", "").split("\n\n"))
        body = _body(operation)
        if body:
            yield f"Body: {body}."
        parameters = [parameter for parameter in operation.get("parameters", ()) if parameter["in"] != "path"]
        if parameters:
            yield table(("parameter", "in", "meaning"), [_parameter(parameter) for parameter in parameters])


def _parameter(parameter: Mapping[str, Any]) -> tuple[str, str, str]:
    needed = " **required**" if parameter.get("required") else ""
    return code(parameter["name"]), parameter["in"] + needed, text(parameter.get("description"))


def _body(operation: Mapping[str, Any]) -> str:
    """The names of the schemas of a JSON body; empty if there is none."""
    schemas = [content.get("schema", {}) for content in operation.get("requestBody", {}).get("content", {}).values()]
    references = [reference for schema in schemas for reference in schema.get("anyOf", [schema]) if "$ref" in reference]
    return " or ".join(code(reference["$ref"].rpartition("/")[2]) for reference in references)
