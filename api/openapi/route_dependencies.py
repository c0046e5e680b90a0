"""What a route depends on, directly or through its dependencies."""

from collections.abc import Callable, Iterator
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.routing import RouteContext


def depends_on(route: RouteContext, function: Callable[..., Any]) -> bool:
    """Whether a route has ``function`` among its dependencies."""
    return any(dependant.call is function for dependant in _all_of(route.dependant))


def _all_of(dependant: Dependant) -> Iterator[Dependant]:
    for part in dependant.dependencies:
        yield part
        yield from _all_of(part)
