"""Requests visitors' addresses with existing and missing things. Repeated requests are cheap; expensive ones count as
several in the rate limit."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

import pytest
from fastapi import FastAPI

from api.http import request_charges
from benchmarks.harness.visitor_requests import TEXTS, ReadableRoute, readable_routes
from scorer.db.tables import Publication, Submission, Team
from tests.api.http.request_costs import MAX_ROWS, Cost, measured_cost
from tests.bulk_rows import EntryRow, add_rows
from tests.factories import make_competition, set_tau
from tests.privacy.canaries import DRAFT, SLUG, publish
from tests.privacy.crawler import Route, UnknownRoute, walk_routes
from tests.privacy.environment import NOW, Environment
from tests.privacy.requests import CALLS, RouteCall, list_parameters

TEAMS = 250
LARGE = {
    "open": {},
    "over": {"closes_at": NOW - timedelta(days=1)},
    "published": {"closes_at": NOW - timedelta(days=1)},
}
"""Competitions with many teams, by slug."""
SEED = 7
QUERY_WORDS = {"search": TEXTS, "team": ("Alpha Kennel", "team 7", "nobody")}
SENT_TO_SIGN_IN = frozenset({303, 401})
NOT_FOR_VISITORS = frozenset({"/metrics"})
"""Paths where visitors always get 404."""


@dataclass(frozen=True)
class Visited:
    """The environment, and additional values for path parameters."""

    world: Environment
    words: Mapping[str, Sequence[Any]]


@pytest.fixture(scope="module")
def visited(world: Environment) -> Iterator[Visited]:
    """The planted competition, published with its data release, next to a draft and competitions with many teams."""
    slugs, entries, teams = [SLUG, DRAFT, "no-such-competition"], ["zq-nothing"], [10**9]
    with world.rewriting() as session:
        for slug, changes in LARGE.items():
            state = make_competition(session, NOW - timedelta(days=9), slug=slug, **changes)
            for kind in ("public", "private"):
                set_tau(session, state, kind, 0.25, NOW - timedelta(days=9))
            numbers = {"public": (20.0, 0.5), "private": (21.0, 0.5)}
            rows = [EntryRow(f"team {number}", numbers, minute=number) for number in range(TEAMS)]
            refs = add_rows(session, state, rows, NOW - timedelta(days=8))
            entries += [entry.id for entry in session.query(Submission).filter(Submission.ref.in_(refs[::100]))]
            teams += [team.id for team in session.query(Team).filter_by(competition_id=state.competition.id).limit(2)]
            slugs.append(slug)
        session.add(
            Publication(
                competition_id=state.competition.id, published=True, final=True, reason="Over.",
                author_id=state.competition.created_by, created_at=NOW - timedelta(hours=1),
            )
        )  # fmt: skip
        publish(session, NOW)
    release = world.planted.ids["release"]
    path = f"/api/v1/competitions/{SLUG}/releases/{release}/handed-out"
    shown = world.http.put(path, json={"shown": True}, headers={"Authorization": "Bearer token-of-organizer"})
    assert shown.status_code == 200, shown.text
    yield Visited(world, {"slug": slugs, "submission_id": entries, "team_id": teams, "release_id": [10**9]})
    world.restore()


def path_words(route: ReadableRoute, visited: Visited) -> dict[str, list[Any]]:
    """Values of all path parameters, for existing and missing things. Raises ``UnknownRoute`` if there are none."""
    call = CALLS.get(f"GET {route.path}", RouteCall())
    known = {**list_parameters(visited.world.planted), **call.words(visited.world.planted)}
    names = Route("GET", route.path, ()).names
    missing = [name for name in names if name not in known]
    if missing:
        raise UnknownRoute(f"{route.path}: add values for {', '.join(missing)} to tests/privacy/requests.py.")
    return {name: [*known[name], *visited.words.get(name, ())] for name in names}


def draw_addresses(route: ReadableRoute, visited: Visited, random: Random) -> Iterator[str]:
    """Addresses of a route with random parameters.

    The first address names planted things that belong together. All addresses together have every value of its path.
    """
    words = path_words(route, visited)
    queries = {**QUERY_WORDS, "shown": list_parameters(visited.world.planted)["shown"]}
    orders = {name: [values[0], *random.sample(values, len(values))] for name, values in words.items()}
    for number in range(max([route.draws, *map(len, orders.values())])):
        path = route.path
        for name, values in orders.items():
            path = path.replace(f"{{{name}}}", str(values[number % len(values)]))
        yield replace(route, path=path, path_parameters={}).draw(random, queries, NOW)


def visit(world: Environment, route: ReadableRoute, address: str) -> tuple[int, Cost]:
    """The status and the cost of a visitor's request."""
    call = CALLS.get(f"GET {route.path}", RouteCall())
    headers = {
        "Accept": "*/*" if route.path.startswith("/api/") else "text/html",
        **call.body("visitor").get("headers", {}),
    }
    with measured_cost() as costs:
        status = world.http.get(address, headers=headers).status_code
    world.http.cookies.clear()
    assert status < 500 or status == call.fails, f"{address}: {status}"
    return status, costs[0]


def make_once(visited: Visited) -> None:
    """Let the service compute each board's order, names and intervals, which all visitors share."""
    for slug, track in itertools.product(visited.words["slug"], ("public", "private")):
        visited.world.http.get(f"/competitions/{slug}", params={"track": track, "search": "a"})
        visited.world.http.get(f"/competitions/{slug}/uncertainty", params={"track": track})


def run_visits(route: ReadableRoute, visited: Visited, random: Random) -> Iterator[tuple[str, int, Cost]]:
    """Request each address of a route twice. Yields a description, the status and the cost."""
    for address in draw_addresses(route, visited, random):
        path, _, query = address.partition("?")
        if query:
            visit(visited.world, route, path)  # computes data that all visitors share
        for time in ("first", "again"):
            status, cost = visit(visited.world, route, address)
            yield f"{time}: {address}", status, cost
            if status in SENT_TO_SIGN_IN:
                break


def test_no_visitor_request_costs_more_than_it_counts(visited: Visited, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", MAX_ROWS // 2)
    random = Random(SEED)
    make_once(visited)
    expensive: dict[str, Cost] = {}
    statuses: dict[str, set[int]] = defaultdict(set)
    for route in readable_routes(visited.world.app):
        for address, status, cost in run_visits(route, visited, random):
            statuses[route.path].add(status)
            if cost.is_expensive:
                expensive[address] = cost
    assert expensive == {}
    assert {path for path, seen in statuses.items() if seen == {404}} == NOT_FOR_VISITORS, (
        "some paths have no address that exists"
    )


def test_every_parameter_of_an_address_is_drawn(visited: Visited) -> None:
    """Including the parameters of dependencies."""
    app = visited.world.app
    drawn = {route.path: set(route.query_parameters) for route in readable_routes(app)}
    assert drawn == {route.path: set(route.queries) for route in walk_routes(app) if route.method == "GET"}


def test_a_new_route_needs_values_of_existing_things(visited: Visited) -> None:
    app = FastAPI()

    @app.get("/{planet}")
    def planet(planet: str) -> str:
        return planet

    (route,) = (readable for readable in readable_routes(app) if readable.path == "/{planet}")
    with pytest.raises(UnknownRoute, match="planet"):
        path_words(route, visited)
