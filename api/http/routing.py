"""The routers of the application's modules.

FastAPI asks one router after the other whether a request is for one of its routes, and each router asks its routes one
after the other. With hundreds of routes that would be a third of what a small request costs.
"""

import re
from typing import Any

from fastapi import APIRouter
from starlette.routing import Match
from starlette.types import Scope

from api.http.access_log import API_PREFIX

NAME_OF_GROUP = re.compile(r"\(\?P<\w+>")


class Router(APIRouter):
    """FastAPI's, which looks at once whether a path can be one of its own before it asks its routes."""

    _paths: re.Pattern[str] | None = None
    _known_routes = -1

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether one of its routes takes the request."""
        paths = self._pattern()
        if paths is not None and not paths.match(scope["path"].removeprefix(scope.get("root_path", ""))):
            return Match.NONE, {}
        return super().matches(scope)

    def _pattern(self) -> re.Pattern[str] | None:
        """A pattern of the paths of all its routes; None if it includes routers, whose paths it does not know."""
        if self._known_routes != len(self.routes):
            patterns = [getattr(route, "path_regex", None) for route in self.routes]
            self._known_routes = len(patterns)
            texts = [NAME_OF_GROUP.sub("(?:", each.pattern.lstrip("^")) for each in patterns if each is not None]
            self._paths = re.compile("|".join(texts)) if len(texts) == len(patterns) else None
        return self._paths


class ApiRouter(Router):
    """A router of the JSON API: ``prefix`` and the paths of its routes follow the API's own prefix."""

    def __init__(self, *, prefix: str = "", **options: Any) -> None:
        super().__init__(prefix=API_PREFIX + prefix, **options)
