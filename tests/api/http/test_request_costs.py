"""What FastAPI does for each request before its route begins: routes looked at, and dependencies solved."""

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRouter, iter_route_contexts
from starlette.routing import Match
from starlette.types import Scope

from api.main import create_app
from scorer.settings import Settings

MAX_ROUTERS = 6
"""Routers that look through their routes for one request: some share patterns such as ``/competitions/{slug}/...``."""
MAX_SOLVED = 24
"""Dependencies that are solved for one request. FastAPI keeps what a dependency returns, but it solves everything below
it again for each place that asks for it: one that is asked for by three others, and asks for six, costs 21."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """The application, which connects to nothing before its first request."""
    folder = tmp_path_factory.mktemp("blobs")
    return create_app(
        Settings(
            database_url="postgresql+psycopg2://127.0.0.1/x", redis_url="redis://127.0.0.1", blob_url=folder.as_uri()
        )
    )


def paths_of(app: FastAPI) -> list[tuple[str, str]]:
    """A method and a path for each route."""
    routes = [(min(each.methods), each.path) for each in iter_route_contexts(app.routes) if each.methods and each.path]
    return [(method, path.replace("{", "").replace("}", "")) for method, path in routes]


def test_few_routers_look_through_their_routes(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[APIRouter] = []
    whole = APIRouter.matches

    def matches(self: APIRouter, scope: Scope) -> tuple[Match, Scope]:
        looked.append(self)
        return whole(self, scope)

    monkeypatch.setattr(APIRouter, "matches", matches)
    costs = {}
    for method, path in paths_of(app):
        looked.clear()
        scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": [], "app": app}
        assert any(route.matches(scope)[0] is Match.FULL for route in app.routes), path
        costs[path] = len(looked)
    assert {path: count for path, count in costs.items() if count > MAX_ROUTERS} == {}


def solved(dependant: Dependant) -> int:
    """How many dependencies are solved for a route, each as often as FastAPI does."""
    return 1 + sum(solved(each) for each in dependant.dependencies)


def test_few_dependencies_are_solved(app: FastAPI) -> None:
    routes = [each for each in iter_route_contexts(app.routes) if getattr(each, "dependant", None)]
    costs = {f"{each.methods} {each.path}": solved(each.dependant) for each in routes}
    assert {route: cost for route, cost in costs.items() if cost > MAX_SOLVED} == {}
