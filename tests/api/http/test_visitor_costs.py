"""What visitors may ask for is cheap when it is repeated, whatever parameters it bears; what is dear counts as more."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from random import Random
from typing import NamedTuple

import pytest

from api.actions import request_charges
from api.http.response_cache import ResponseCache
from benchmarks.harness.visitor_requests import TEXTS, ReadableRoute, readable_routes
from scorer.accounts.rate_limits import RateLimiter
from tests.api.accounts.test_accounts import rated
from tests.api.conftest import Service
from tests.api.leaderboard.test_standings import Arena
from tests.bulk_rows import EntryRow, add_rows
from tests.sql_statements import counted_rows, counted_statements

TEAMS = 250
BOARD, FIGURES = "/api/v1/competitions/{slug}/leaderboard", "/api/v1/competitions/{slug}/insights"
MADE_ONCE = (
    *("/competitions/{slug}", "/competitions/{slug}?late=true", "/competitions/{slug}/insights"),
    *("/competitions/{slug}/uncertainty", "/api/v1/competitions"),
    *(f"{BOARD}{query}" for query in ("", "?after=10&limit=5", "?search=team+1", "?format=csv", "?late=true")),
    *(f"{FIGURES}/{figure}" for figure in ("distances", "fid?format=csv", "fid-distance?format=svg")),
)
"""What is computed from many rows, for everybody."""
MAX_STATEMENTS = 25
MAX_ROWS = 120
"""Rows that may be read for a request, as often as the rate limit counts it: a page of places and some more, fewer than
there are teams."""


@pytest.fixture
def arena(service: Service) -> Arena:
    """A competition with many teams."""
    arena = Arena(service)
    numbers = {"public": (20.0, 0.5), "private": (21.0, 0.5)}
    rows = [EntryRow(f"team {number}", numbers, minute=number) for number in range(TEAMS)]
    with arena.begin() as session:
        add_rows(session, arena.state, rows, arena.state.competition.created_at)
    return arena


class Cost(NamedTuple):
    """The statements of a request, the rows that they read, and as how many requests the rate limit counts it."""

    statements: int
    rows: int
    requests: int

    @property
    def is_dear(self) -> bool:
        """Whether it takes more than it counts."""
        return self.statements > MAX_STATEMENTS * self.requests or self.rows > MAX_ROWS * self.requests


@contextmanager
def counted_requests(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """As how many requests each is counted meanwhile."""
    counted: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(RateLimiter, "hit", lambda _, name, *__, cost=1: counted.append(cost * (name == "request")))
        yield counted


def costs(arena: Arena, routes: Sequence[ReadableRoute], monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Cost]]:
    """The costs of random requests, seeded, the first time and repeated; what an address without parameters makes once
    for everybody is there before."""
    random = Random(7)
    words = {"slug": (arena.slug, arena.slug, "no-such-competition"), "search": TEXTS}
    arena.service.http.get(f"/competitions/{arena.slug}?search=a")  # ranks the board, and reads the names
    for route in routes:
        for _ in range(route.draws):
            path = route.draw(random, words, datetime.now(UTC))
            arena.service.http.get(path.split("?")[0], follow_redirects=False)
            for time in ("first", "again"):
                yield f"{time}: {path}", cost_of(arena, path, monkeypatch)


def cost_of(arena: Arena, path: str, monkeypatch: pytest.MonkeyPatch) -> Cost:
    """What a visitor's request costs now."""
    with counted_statements() as taken, counted_rows() as rows, counted_requests(monkeypatch) as counted:
        status = arena.service.http.get(path, follow_redirects=False).status_code
    assert status != 500, path
    return Cost(len(taken), sum(rows), max(1, sum(counted)))


@pytest.mark.heavy
def test_no_request_of_a_visitor_takes_more_than_it_counts(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", MAX_ROWS // 2)
    routes = readable_routes(arena.service.app)
    assert {"/", "/competitions/{slug}", "/api/v1/competitions/{slug}/leaderboard"} <= {each.path for each in routes}
    assert {path: cost for path, cost in costs(arena, routes, monkeypatch) if cost.is_dear} == {}
    monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", 10**9)
    monkeypatch.setattr(arena.service.app.state, "response_cache", ResponseCache())
    csv = f"/api/v1/competitions/{arena.slug}/leaderboard?format=csv"
    assert cost_of(arena, csv, monkeypatch).is_dear, "a whole table that does not count as more"


def test_what_everybody_may_read_is_made_once(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    keep = ResponseCache.keep

    def counted(cache: ResponseCache, etag: str, body: bytes) -> bytes:
        made.append(etag)
        return keep(cache, etag, body)

    monkeypatch.setattr(ResponseCache, "keep", counted)
    for address in MADE_ONCE:
        made.clear()
        first, again = (arena.service.http.get(address.format(slug=arena.slug)) for _ in range(2))
        assert first.content == again.content
        assert len(made) == len(set(made)) > 0, address


def test_csv_is_the_same_whatever_page_it_is_asked_for(arena: Arena) -> None:
    first = arena.get(format="csv")
    with counted_rows() as rows:
        others = [arena.get(format="csv", after=number, limit=number + 1) for number in range(3)]
    assert {each.headers["ETag"] for each in others} == {first.headers["ETag"]}
    assert {each.content for each in others} == {first.content}
    assert first.text.count("\n") == TEAMS + 1
    assert sum(rows) < TEAMS


def test_a_table_counts_by_its_rows_once_it_is_written(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", 50)
    rated(arena.service, monkeypatch, request="14/minute")
    assert arena.get(format="csv").status_code == 200  # 1 + 250 / 50
    assert arena.get(format="csv").status_code == 200, "it is kept: one request"
    assert arena.get(format="csv", search="team 1").status_code == 200  # 1 + 111 / 50
    refused = arena.get(format="csv", search="team")  # 1 + 5, of the 4 that are left
    assert refused.status_code == 429
    assert arena.get(limit=10).status_code == 200


def test_the_dearest_table_takes_half_of_the_limit(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", 1)
    rated(arena.service, monkeypatch, request="10/minute")
    assert arena.get(format="csv").status_code == 200
    statuses = [arena.service.call(None, "GET", "/competitions").status_code for _ in range(5)]
    assert statuses == [200] * 4 + [429]


def test_a_figure_of_all_entries_counts_by_its_rows(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_charges, "ROWS_PER_REQUEST", 50)
    rated(arena.service, monkeypatch, request="14/minute")
    arena.publish()

    def figure() -> int:
        return int(arena.service.call(None, "GET", f"/competitions/{arena.slug}/insights/distances").status_code)

    assert [figure() for _ in range(3)] == [200, 200, 429]
