"""Request bodies and answers that are files, which FastAPI cannot see in a function's signature."""

from collections.abc import Mapping
from typing import Any

ANY_FILE = "application/octet-stream"
BINARY: Mapping[str, Any] = {"type": "string", "format": "binary"}

Responses = dict[int | str, dict[str, Any]]

UNCHANGED: Responses = {304: {"description": "It is still what `If-None-Match` names."}}
"""Of routes that answer with an ``ETag``."""


def file_body(description: str, *, media_type: str = ANY_FILE, is_required: bool = True) -> dict[str, Any]:
    """The ``openapi_extra`` of a route whose body is a file. Generated clients know how to send ``ANY_FILE``."""
    content = {media_type: {"schema": BINARY}}
    return {"requestBody": {"required": is_required, "description": description, "content": content}}


def file_answer(*media_types: str, has_ranges: bool = False, is_cached: bool = False) -> Responses:
    """The ``responses`` of a route that answers with a file: of which types, whether it takes ``Range``, and whether
    ``If-None-Match``."""
    content = {media_type: {"schema": BINARY} for media_type in media_types}
    answers: Responses = {200: {"description": "The file.", "content": content}}
    if has_ranges:
        answers[206] = {"description": "The part that `Range` asks for.", "content": content}
        answers[416] = {"description": "The file ends before that part."}
    return answers | UNCHANGED if is_cached else answers


def also_as(*media_types: str) -> Responses:
    """The ``responses`` of a route that answers with JSON or, by ``format``, with one of these types."""
    return {200: {"content": {media_type: {"schema": {"type": "string"}} for media_type in media_types}}}


PICTURE = file_answer("image/png", is_cached=True)
"""Of routes that answer with one PNG."""
FILE = file_answer(ANY_FILE, has_ranges=True)
"""Of routes that answer with a file of any type, or a range of it."""
