"""Operation ids: the names of operations in the OpenAPI document, from which generators of clients name functions."""

from typing import Final

from fastapi.routing import APIRoute

STANDARD_NAMES: Final = {"index": "list", "show": "get"}


def operation_id(route: APIRoute) -> str:
    """``submissions.list``: the folder of a route's function, and its name; ``_by_link`` follows where a rating link
    leads to the same function."""
    noun = route.endpoint.__module__.split(".")[-2]
    ending = "_by_link" if "/rate/" in route.path_format else ""
    return f"{noun}.{STANDARD_NAMES.get(route.name, route.name)}{ending}"
