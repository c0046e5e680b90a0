"""Descriptions of request bodies and responses that are files. FastAPI can't derive them from a signature."""

from collections.abc import Mapping
from typing import Any

ANY_FILE = "application/octet-stream"
BINARY: Mapping[str, Any] = {"type": "string", "format": "binary"}

Responses = dict[int | str, dict[str, Any]]

UNCHANGED: Responses = {304: {"description": "Unchanged since the `ETag` in `If-None-Match`."}}


def file_body(description: str, *, media_type: str = ANY_FILE, is_required: bool = True) -> dict[str, Any]:
    """The ``openapi_extra`` of a route with a file as its request body. Generated clients can send ``ANY_FILE``."""
    content = {media_type: {"schema": BINARY}}
    return {"requestBody": {"required": is_required, "description": description, "content": content}}


def file_answer(*media_types: str, has_ranges: bool = False, is_cached: bool = False) -> Responses:
    """The ``responses`` of a route that returns a file. ``has_ranges``: it supports ``Range``. ``is_cached``: it
    supports ``If-None-Match``."""
    content = {media_type: {"schema": BINARY} for media_type in media_types}
    answers: Responses = {200: {"description": "The file.", "content": content}}
    if has_ranges:
        answers[206] = {"description": "The requested range of the file.", "content": content}
        answers[416] = {"description": "The range is outside the file."}
    return answers | UNCHANGED if is_cached else answers


def also_as(*media_types: str) -> Responses:
    """The ``responses`` of a route that returns JSON or one of these types, chosen with ``format``."""
    return {200: {"content": {media_type: {"schema": {"type": "string"}} for media_type in media_types}}}


PICTURE = file_answer("image/png", is_cached=True)
FILE = file_answer(ANY_FILE, has_ranges=True)
