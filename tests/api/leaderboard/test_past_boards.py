"""Boards of the past are out of everybody's way: made one at a time, few kept, refused beyond a queue, and paid for."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from threading import Event
from typing import Any

import pytest
from sqlalchemy import text

from scorer.accounts.rate_limits import PAST_BOARD_COST
from scorer.db.session import Connection, Connections
from scorer.errors import TooMany
from scorer.leaderboard import board_cache, past_boards
from scorer.leaderboard.board_cache import BoardCache
from scorer.leaderboard.cached_boards import MAX_PAST_BOARDS
from scorer.leaderboard.past_boards import PastBoard
from scorer.ranking.vectorised import BoardListing, RankedBoard
from tests.api.accounts.test_accounts import rated
from tests.api.conftest import Service
from tests.api.leaderboard.test_standings import Arena, ranks, rename
from tests.factories import add_measurement


class Reader:
    """A board cache that reads an arena's public boards."""

    def __init__(self, arena: Arena, connections: Connections) -> None:
        self.arena = arena
        self.cache = BoardCache(connections)

    def now(self) -> RankedBoard:
        state = self.arena.state
        return self.cache.ranked_board(state.competition, state.tracks, "public", late=False)

    def past(self, days: float) -> BoardListing:
        state, at = self.arena.state, self.arena.now - timedelta(days=days)
        return self.cache.past_listing(state.competition, state.tracks, "public", late=False, at=at)


@pytest.fixture
def connections(service: Service) -> Iterator[Connections]:
    pool = Connections(service.context.settings, max_connections=2)
    yield pool
    pool.close()


@pytest.fixture
def reader(service: Service, connections: Connections) -> Reader:
    arena = Arena(service)
    for handle, days in (("ada", 6), ("bob", 5), ("eve", 4)):
        arena.entry(handle, 10.0, days=days)
    return Reader(arena, connections)


def test_moments_between_the_same_changes_are_one_board(reader: Reader) -> None:
    now = reader.now()
    assert len(reader.past(5.5)) == 1
    assert reader.past(5.1) is reader.past(5.9)
    assert len(reader.past(4.5)) == 2
    assert reader.past(3) is now, "nothing has changed since"
    assert len(reader.past(99)) == 0


def test_past_boards_drive_out_no_board_of_now_and_few_are_kept(reader: Reader) -> None:
    now, first = reader.now(), reader.past(5.5)
    for days in (4.5, 6.5)[:MAX_PAST_BOARDS]:
        reader.past(days)
    assert reader.now() is now
    assert reader.past(5.5) is not first
    assert reader.past(5.5).refs == first.refs


def paused(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something in the middle of the making of each past board."""
    whole = PastBoard.listing

    def listing(self: PastBoard, connection: Connection) -> BoardListing:
        made = whole(self, connection)
        act()
        return made

    monkeypatch.setattr(PastBoard, "listing", listing)


def test_readers_of_boards_of_now_do_not_wait_for_those_of_the_past(
    service: Service, connections: Connections, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_cache, "MAX_PAST_READERS", 1)
    reader = Reader(reader.arena, connections)
    begun, go_on = Event(), Event()

    def wait() -> None:
        begun.set()
        assert go_on.wait(60)

    paused(monkeypatch, wait)
    with ThreadPoolExecutor(1) as pool:
        past = pool.submit(reader.past, 5.5)
        assert begun.wait(60)
        assert len(reader.now()) == 3
        reader.arena.entry("ada", 5.0, days=0)
        assert len(reader.now()) == 3, "ranked anew beside it"
        with pytest.raises(TooMany, match="boards of the past"):
            reader.past(4.5)
        go_on.set()
        assert len(past.result(60)) == 1
    assert len(reader.past(4.5)) == 2


def test_a_past_board_that_changes_while_it_is_made_is_not_kept(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.now()

    def late_news() -> None:
        reader.arena.entry("eve", 1.0, days=5.7)
        reader.now()

    with monkeypatch.context() as patch:
        paused(patch, late_news)
        assert len(reader.past(5.5)) == 1
    assert len(reader.past(5.5)) == 2


@pytest.mark.parametrize("reread", [0, past_boards.MAX_REREAD])
def test_an_entry_that_was_measured_again_had_its_earlier_numbers(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, reread: int
) -> None:
    """Whether earlier measurements are read all at once or one by one, before and after one is added."""
    monkeypatch.setattr(past_boards, "MAX_REREAD", reread)
    arena = reader.arena
    entry = arena.entry("ada", 9.0, days=6.5)
    reader.now()

    def best(days: float) -> tuple[int, float]:
        board = reader.past(days)
        return int(board.judged.columns.ref[board.rows[0]]), float(board.judged.score[board.rows[0]])

    for days, fid in ((5.0, 8.0), (4.5, 7.0), (2.0, 6.0)):
        with arena.begin() as session:
            add_measurement(session, arena.state, entry, fid=fid, distance=0.5, now=arena.now - timedelta(days=days))
        assert best(4.9) == (entry.ref, 8.0)
    assert [best(days)[1] for days in (6.1, 4.6, 4.4, 2.1, 1.9)] == [9.0, 8.0, 7.0, 7.0, 6.0]


def test_competitions_are_dropped_by_the_size_of_what_is_kept(
    service: Service, connections: Connections, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    with reader.arena.begin() as session:
        session.execute(text("UPDATE competitions SET slug = 'first'"))
    other = Reader(Arena(service), connections)
    other.arena.entry("ada", 1.0)
    other.cache = reader.cache
    first = reader.now()
    assert reader.cache.nbytes > 3 * 57
    other.now()
    assert reader.now() is first
    monkeypatch.setattr(board_cache, "MAX_BYTES", 1)
    other.now()
    assert reader.now() is not first


def test_a_past_board_counts_as_several_requests(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    arena = Arena(service)
    arena.entry("ada", 10.0)
    rated(service, monkeypatch, request=f"{2 * PAST_BOARD_COST + 3}/minute")
    then = (arena.now - timedelta(days=1)).isoformat()
    page = f"/competitions/{arena.slug}?as_of={then.replace('+', '%2B')}"
    assert arena.get(as_of=then).status_code == 200
    assert service.http.get(page, headers={"Accept": "text/html"}).status_code == 200
    assert arena.get(as_of=then).status_code == 429


def test_a_comparison_of_boards_counts_as_several_requests_before_it_is_made(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    arena = Arena(service)
    rated(service, monkeypatch, request=f"{2 * PAST_BOARD_COST + 3}/minute")
    path = f"/competitions/{arena.slug}"
    assert service.call(None, "GET", f"{path}/leaderboard/versions").status_code == 403, "nothing is published"
    page = service.http.get(f"{path}/versions", headers={"Accept": "text/html"}, follow_redirects=False)
    assert page.status_code == 303, "to the sign-in"
    assert service.call(None, "GET", f"{path}/leaderboard/versions").status_code == 429


def test_teams_are_found_by_their_names_of_now(reader: Reader) -> None:
    arena = reader.arena

    def found(search: str, **params: Any) -> list[str]:
        return ranks(arena.board(search=search, **params))

    assert found("a") == ["Ada"]
    assert found("e") == ["Eve"]
    with arena.begin() as session:
        rename(arena.team(session, "eve"), "Åｄａ two", by=arena.state.competition.created_by, at=arena.now)
    assert found("åda TWO") == ["Åｄａ two"]
    assert found("DA") == ["Ada", "Åｄａ two"]
    assert [place["rank"] for place in arena.board(search="da", after=1)["entries"]] == [3]
    assert [place["rank"] for place in arena.board(search="da", limit=1)["entries"]] == [1]
    then = (datetime.now(arena.now.tzinfo) - timedelta(days=1)).isoformat()
    assert found("da", as_of=then) == ["Ada"]
    arena.entry("organizer", 3.0, days=0)  # of a team that is new
    assert found("organ") == ["Organizer"]
    assert found("nobody") == []
