"""The routers of the application's modules.

FastAPI searches all routes of all routers one after the other. With hundreds of routes, that search would be a third of
the time of a small request.
"""

import re
from typing import Any

from fastapi import APIRouter
from starlette.routing import Match
from starlette.types import Scope

from api.http.access_log import API_PREFIX

GROUP_NAME = re.compile(r"\(\?P<\w+>")


class Router(APIRouter):
    """FastAPI's router, but it first matches a path against a single pattern of all its routes."""

    _paths: re.Pattern[str] | None = None
    _known_routes = -1

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        paths = self._pattern()
        if paths is not None and not paths.match(scope["path"].removeprefix(scope.get("root_path", ""))):
            return Match.NONE, {}
        return super().matches(scope)

    def _pattern(self) -> re.Pattern[str] | None:
        """A pattern of the paths of all routes; None if the router includes other routers, with unknown paths."""
        if self._known_routes != len(self.routes):
            patterns = [getattr(route, "path_regex", None) for route in self.routes]
            self._known_routes = len(patterns)
            texts = [GROUP_NAME.sub("(?:", pattern.pattern.lstrip("^")) for pattern in patterns if pattern is not None]
            self._paths = re.compile("|".join(texts)) if len(texts) == len(patterns) else None
        return self._paths


class ApiRouter(Router):
    """A router of the JSON API: the API's prefix comes before ``prefix`` and the paths of the routes."""

    def __init__(self, *, prefix: str = "", **options: Any) -> None:
        super().__init__(prefix=API_PREFIX + prefix, **options)
