"""The cost of requests: matched routers and solved dependencies. Repeated requests are cheap or count as several."""

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRouter, iter_route_contexts
from starlette.routing import Match
from starlette.types import Scope

from api.http import request_charges
from api.http.response_cache import ResponseCache
from api.main import create_app
from scorer.settings import Settings
from tests.api.conftest import Service, rated
from tests.api.http.request_costs import MAX_ROWS, measured_cost
from tests.api.leaderboard.arena import Arena
from tests.bulk_rows import EntryRow, add_rows
from tests.sql_statements import counted_rows

TEAMS = 250
BOARD, FIGURES = "/api/v1/competitions/{slug}/leaderboard", "/api/v1/competitions/{slug}/insights"
COMPUTED_ONCE = (
    *("/competitions/{slug}", "/competitions/{slug}?late=true", "/competitions/{slug}/insights"),
    *("/competitions/{slug}/uncertainty", "/api/v1/competitions"),
    *(f"{BOARD}{query}" for query in ("", "?after=10&limit=5", "?search=team+1", "?format=csv", "?late=true")),
    *(f"{FIGURES}/{figure}" for figure in ("distances", "fid?format=csv", "fid-distance?format=svg")),
)
"""Addresses of public responses that are computed from many rows."""


@pytest.fixture
def arena(service: Service) -> Arena:
    arena = Arena(service)
    numbers = {"public": (20.0, 0.5), "private": (21.0, 0.5)}
    rows = [EntryRow(f"team {number}", numbers, minute=number) for number in range(TEAMS)]
    with arena.begin() as session:
        add_rows(session, arena.state, rows, arena.state.competition.created_at)
    return arena


def test_a_whole_table_is_expensive_unless_it_counts_as_several(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of tests/privacy/test_visitor_requests.py can fail."""

    def is_expensive(rows_per_request: int) -> bool:
        monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", rows_per_request)
        arena.service.app.state.response_cache = ResponseCache()
        with measured_cost() as costs:
            assert arena.get(format="csv").status_code == 200
        return costs[0].is_expensive

    arena.get(search="a")  # ranks the board and reads the names
    assert is_expensive(10**9)
    assert not is_expensive(MAX_ROWS // 2)


def test_public_responses_are_computed_once(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    keep = ResponseCache.keep

    def counted(cache: ResponseCache, etag: str, body: bytes) -> bytes:
        made.append(etag)
        return keep(cache, etag, body)

    monkeypatch.setattr(ResponseCache, "keep", counted)
    for address in COMPUTED_ONCE:
        made.clear()
        first, again = (arena.service.http.get(address.format(slug=arena.slug)) for _ in range(2))
        assert first.content == again.content
        assert len(made) == len(set(made)) > 0, address


def test_csv_ignores_the_page(arena: Arena) -> None:
    first = arena.get(format="csv")
    with counted_rows() as rows:
        others = [arena.get(format="csv", after=number, limit=number + 1) for number in range(3)]
    assert {answer.headers["ETag"] for answer in others} == {first.headers["ETag"]}
    assert {answer.content for answer in others} == {first.content}
    assert first.text.count("\n") == TEAMS + 1
    assert sum(rows) < TEAMS


def test_a_new_table_counts_by_its_rows_and_a_cached_one_once(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", 50)
    rated(arena.service, monkeypatch, request="14/minute")
    assert arena.get(format="csv").status_code == 200  # 1 + 250 / 50
    assert arena.get(format="csv").status_code == 200, "a cached table counts as one request"
    assert arena.get(format="csv", search="team 1").status_code == 200  # 1 + 111 / 50
    refused = arena.get(format="csv", search="team")  # 1 + 5, but only 4 remain
    assert refused.status_code == 429
    assert arena.get(limit=10).status_code == 200


def test_the_most_expensive_table_costs_half_of_the_limit(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", 1)
    rated(arena.service, monkeypatch, request="10/minute")
    assert arena.get(format="csv").status_code == 200
    statuses = [arena.service.call(None, "GET", "/competitions").status_code for _ in range(5)]
    assert statuses == [200] * 4 + [429]


def test_a_figure_of_all_entries_counts_by_its_rows(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", 50)
    rated(arena.service, monkeypatch, request="18/minute")
    arena.publish()

    def figure() -> int:
        return int(arena.service.call(None, "GET", f"/competitions/{arena.slug}/insights/distances").status_code)

    assert [figure() for _ in range(3)] == [200, 200, 429]


MAX_ROUTERS = 6
"""Routers that search their routes for one request. Some share patterns such as ``/competitions/{slug}/...``."""
MAX_SOLVED = 24
"""Dependencies that FastAPI solves for one request. It caches the result of a dependency, but it solves the
dependencies below it again for each user: a dependency with six below it and three users costs 21."""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """The application. It connects to nothing before its first request."""
    folder = tmp_path_factory.mktemp("blobs")
    return create_app(
        Settings(
            database_url="postgresql+psycopg2://127.0.0.1/x", redis_url="redis://127.0.0.1", blob_url=folder.as_uri()
        )
    )


def list_paths(app: FastAPI) -> list[tuple[str, str]]:
    """Return a method and a path for each route."""
    routes = [
        (min(route.methods), route.path) for route in iter_route_contexts(app.routes) if route.methods and route.path
    ]
    return [(method, path.replace("{", "").replace("}", "")) for method, path in routes]


def test_few_routers_search_their_routes(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[APIRouter] = []
    whole = APIRouter.matches

    def matches(self: APIRouter, scope: Scope) -> tuple[Match, Scope]:
        searched.append(self)
        return whole(self, scope)

    monkeypatch.setattr(APIRouter, "matches", matches)
    costs = {}
    for method, path in list_paths(app):
        searched.clear()
        scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": [], "app": app}
        assert any(route.matches(scope)[0] is Match.FULL for route in app.routes), path
        costs[path] = len(searched)
    assert {path: count for path, count in costs.items() if count > MAX_ROUTERS} == {}


def solved(dependant: Dependant) -> int:
    """Count the dependencies that FastAPI solves for a route, including repetitions."""
    return 1 + sum(solved(dependency) for dependency in dependant.dependencies)


def test_few_dependencies_are_solved(app: FastAPI) -> None:
    routes = [route for route in iter_route_contexts(app.routes) if getattr(route, "dependant", None)]
    costs = {f"{route.methods} {route.path}": solved(route.dependant) for route in routes}
    assert {route: cost for route, cost in costs.items() if cost > MAX_SOLVED} == {}
