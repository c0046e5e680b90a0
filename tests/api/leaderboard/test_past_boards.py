"""Past boards: computed one at a time behind a short queue, cached in small numbers, and charged as several requests.
Also the earlier board that visitors may see while a new one is ranked."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import count
from threading import Event, Lock, Semaphore
from typing import Any

import pytest
from sqlalchemy import text

from api.http.rate_limits import PAST_BOARD_COST
from scorer.db.leaderboard.changes import ChangeFeed, FeedRow
from scorer.db.session import Connection, Connections
from scorer.errors import TooMany
from scorer.leaderboard import board_cache, board_snapshots, cached_boards, past_boards
from scorer.leaderboard.board_cache import BoardCache
from scorer.leaderboard.cached_boards import MAX_PAST_BOARDS
from scorer.leaderboard.past_boards import PastBoard
from scorer.lifecycle import utc_day
from scorer.ranking import vectorised
from scorer.ranking.vectorised import BoardListing, RankedBoard
from tests.api.conftest import Service, rated
from tests.api.leaderboard.arena import Arena, ranks, read_board, rename
from tests.factories import add_measurement, set_tau

BEFORE, AFTER = ["Ada", "Bob", "Eve"], ["Eve", "Ada", "Bob"]


class Reader:
    """A board cache that reads an arena's public boards."""

    def __init__(self, arena: Arena, connections: Connections) -> None:
        self.arena = arena
        self.cache = BoardCache(connections)

    def now(self) -> RankedBoard:
        state = self.arena.state
        return self.cache.ranked_board(state, "public", late=False)

    def past(self, days: float) -> BoardListing:
        state, at = self.arena.state, self.arena.now - timedelta(days=days)
        return self.cache.past_listing(state, "public", late=False, at=at)


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


def test_times_between_the_same_changes_share_a_board(reader: Reader) -> None:
    now = reader.now()
    assert len(reader.past(5.5)) == 1
    assert reader.past(5.1) is reader.past(5.9)
    assert len(reader.past(4.5)) == 2
    assert reader.past(3) is now, "nothing has changed since then"
    assert len(reader.past(99)) == 0


def test_few_past_boards_are_cached_and_current_boards_stay(reader: Reader) -> None:
    now, first = reader.now(), reader.past(5.5)
    for days in (4.5, 6.5)[:MAX_PAST_BOARDS]:
        reader.past(days)
    assert reader.now() is now
    assert reader.past(5.5) is not first
    assert reader.past(5.5).refs == first.refs


def paused(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Call ``act`` while each past board is computed."""
    whole = PastBoard.listing

    def listing(self: PastBoard, connection: Connection) -> BoardListing:
        made = whole(self, connection)
        act()
        return made

    monkeypatch.setattr(PastBoard, "listing", listing)


def test_readers_of_current_boards_do_not_wait_for_past_boards(
    service: Service, connections: Connections, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_cache, "MAX_PAST_READERS", 1)
    reader = Reader(reader.arena, connections)
    begun, resume = Event(), Event()

    def wait() -> None:
        begun.set()
        assert resume.wait(60)

    paused(monkeypatch, wait)
    with ThreadPoolExecutor(1) as pool:
        past = pool.submit(reader.past, 5.5)
        assert begun.wait(60)
        assert len(reader.now()) == 3
        reader.arena.entry("ada", 5.0, days=0)
        assert len(reader.now()) == 3, "a new ranking does not wait for the past board"
        with pytest.raises(TooMany, match="past boards"):
            reader.past(4.5)
        resume.set()
        assert len(past.result(60)) == 1
    assert len(reader.past(4.5)) == 2


def test_a_past_board_that_changes_meanwhile_is_not_cached(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.now()

    def late_change() -> None:
        reader.arena.entry("eve", 1.0, days=5.7)
        reader.now()

    with monkeypatch.context() as patch:
        paused(patch, late_change)
        assert len(reader.past(5.5)) == 1
    assert len(reader.past(5.5)) == 2


@pytest.mark.parametrize("reread", [0, past_boards.MAX_REREAD])
def test_past_boards_have_the_earlier_measurements(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, reread: int
) -> None:
    """This holds for earlier measurements read together or one by one, before and after a new one."""
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


def test_competitions_are_dropped_by_the_size_of_the_cache(
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


def test_a_comparison_of_versions_counts_as_several_requests(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    arena = Arena(service)
    rated(service, monkeypatch, request=f"{2 * PAST_BOARD_COST + 3}/minute")
    path = f"/competitions/{arena.slug}"
    assert service.call(None, "GET", f"{path}/leaderboard/versions").status_code == 403, "no version is published"
    page = service.http.get(f"{path}/versions", headers={"Accept": "text/html"}, follow_redirects=False)
    assert page.status_code == 303, "redirected to the sign-in page"
    assert service.call(None, "GET", f"{path}/leaderboard/versions").status_code == 429


def test_teams_are_found_by_their_current_names(reader: Reader) -> None:
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
    arena.entry("organizer", 3.0, days=0)  # from a new team
    assert found("organ") == ["Organizer"]
    assert found("nobody") == []


@pytest.fixture
def arena(service: Service) -> Arena:
    arena = Arena(service)
    for handle, fid, distance in (("ada", 10.0, 0.3), ("bob", 20.0, 0.3), ("eve", 22.0, 0.5)):
        arena.entry(handle, fid, distance, s=distance)
    assert ranks(arena.board()) == BEFORE
    assert arena.service.http.get(page(arena)).status_code == 200
    return arena


def page(arena: Arena) -> str:
    return f"/competitions/{arena.slug}"


def retune(arena: Arena) -> None:
    """Choose a tau that penalises the first two entries."""
    with arena.begin() as session:
        set_tau(session, arena.state, "public", 0.4, arena.now)


@contextmanager
def ranking_paused(monkeypatch: pytest.MonkeyPatch, arena: Arena) -> Iterator[tuple[Future[Any], ThreadPoolExecutor]]:
    """Pause a visitor's request while it ranks a board. When the block ends, the ranking and the requests in the pool
    continue."""
    begun, resume = Event(), Event()
    whole = vectorised.rank_entries

    def rank_entries(*arguments: Any, **options: Any) -> Any:
        begun.set()
        assert resume.wait(60)
        return whole(*arguments, **options)

    monkeypatch.setattr(cached_boards, "rank_entries", rank_entries)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(arena.board)
        assert begun.wait(60)
        try:
            yield first, pool
        finally:
            resume.set()
    monkeypatch.undo()


def test_visitors_do_not_wait_while_a_board_is_ranked_again(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_snapshots, "MAX_FORMER_SECONDS", 600.0)
    etag = arena.get().headers["etag"]
    path = f"/competitions/{arena.slug}/leaderboard"
    retune(arena)
    with ranking_paused(monkeypatch, arena) as (first, pool):
        assert ranks(arena.board()) == BEFORE
        assert arena.service.call(None, "GET", path, headers={"If-None-Match": etag}).status_code == 304
        assert arena.service.http.get(page(arena)).text.index("Ada") > 0
        waiting = [pool.submit(arena.board, "organizer"), pool.submit(arena.board, limit=50)]
        assert not first.done()
    assert [ranks(waiting_board.result(60)) for waiting_board in (first, *waiting)] == [AFTER] * 3, (
        "the organizer's board and another page wait"
    )
    assert ranks(arena.board()) == AFTER
    assert arena.service.call(None, "GET", path, headers={"If-None-Match": etag}).status_code == 200


def test_an_earlier_board_is_shown_only_briefly(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_snapshots, "MAX_FORMER_SECONDS", 0.0)
    retune(arena)
    with ranking_paused(monkeypatch, arena) as (_, pool):
        waiting = pool.submit(arena.board)
    assert ranks(waiting.result(60)) == AFTER


def test_a_publication_is_visible_immediately(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks may be a moment late, but access is not."""
    monkeypatch.setattr(board_snapshots, "MAX_FORMER_SECONDS", 600.0)
    arena.publish()
    with ranking_paused(monkeypatch, arena) as (_, pool):
        waiting = pool.submit(arena.get, track="private")
    assert waiting.result(60).status_code == 200


def test_the_day_start_board_is_computed_again_only_if_it_changed(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = Connections(arena.service.context.settings, max_connections=2)
    cache = BoardCache(connections)
    made: list[BoardListing] = []
    whole = PastBoard.listing

    def listing(*arguments: Any) -> BoardListing:
        made.append(whole(*arguments))
        return made[-1]

    monkeypatch.setattr(PastBoard, "listing", listing)
    start = utc_day(arena.now)[0]

    def day_start_ranks() -> list[int]:
        state = arena.state
        cache.current_snapshot(arena.slug, arena.now)
        cache.ranked_board(state, "public", late=False)
        listing = cache.day_start_listing(state, "public", start)
        with arena.begin() as session:
            plain = read_board(session, state, "public", late=False, at=start)
        assert [row.ref for row in plain[1]] == listing.refs
        return listing.refs

    assert len(day_start_ranks()) == 3
    retune(arena)
    day_start_ranks()
    arena.entry("ada", 1.0, days=0)
    day_start_ranks()
    assert len(made) == 2, "a measurement changes it, a new tau does not"
    with arena.begin() as session:
        set_tau(session, arena.state, "public", 0.4, start - timedelta(days=1))
    day_start_ranks()
    assert len(made) == 3, "a threshold that was committed late changes it"
    connections.close()


def test_a_visitors_request_ranks_only_public_boards(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    ranked: list[RankedBoard] = []
    whole = vectorised.rank_entries

    def rank_entries(*arguments: Any, **options: Any) -> RankedBoard:
        ranked.append(whole(*arguments, **options))
        return ranked[-1]

    monkeypatch.setattr(cached_boards, "rank_entries", rank_entries)

    def count_public_rankings() -> int:
        ranked.clear()
        arena.board()
        return len(ranked)

    arena.board("organizer", track="private")
    retune(arena)
    assert count_public_rankings() == 1
    arena.publish(final=False)
    arena.board(track="private")
    retune(arena)
    assert count_public_rankings() == 2, "both are public and were requested"
    retune(arena)
    assert count_public_rankings() == 1, "the private board was not requested since then"
    arena.publish()
    arena.board(track="private")
    retune(arena)
    assert count_public_rankings() == 1, "the final board does not change"


class CountedLock:
    """A lock that counts the threads that want it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.arrivals = Semaphore(0)

    def __enter__(self) -> None:
        self.arrivals.release()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def test_a_failed_refresh_is_not_shared(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two requests wait together. If the first fails, the second reads the change feed itself."""
    connections = Connections(arena.service.context.settings, max_connections=2)
    cache = BoardCache(connections)
    before = cache.current_snapshot(arena.slug, arena.now)
    boards = next(iter(cache._boards.values()))
    boards.lock = lock = CountedLock()  # type: ignore[assignment]
    reads = count(1)
    resume = Event()
    whole = ChangeFeed.read

    def read(self: ChangeFeed, connection: Connection) -> list[FeedRow]:
        number = next(reads)
        changes = whole(self, connection) if number != 2 else []
        if number == 1:
            assert resume.wait(60)
        if number == 2:
            raise TimeoutError("the database was slow")
        return changes

    monkeypatch.setattr(ChangeFeed, "read", read)
    with ThreadPoolExecutor(3) as pool:
        requests = [pool.submit(cache.current_snapshot, arena.slug, arena.now)]
        assert lock.arrivals.acquire(timeout=60)
        requests += [pool.submit(cache.current_snapshot, arena.slug, arena.now) for _ in range(2)]
        assert all(lock.arrivals.acquire(timeout=60) for _ in range(2))
        retune(arena)
        resume.set()
        outcomes = [request.exception(60) for request in requests]
    assert [type(outcome) for outcome in outcomes if outcome is not None] == [TimeoutError]
    newest = [request.result() for request, error in zip(requests[1:], outcomes[1:], strict=True) if error is None]
    assert [snapshot.counts != before.counts for snapshot in newest] == [True]
    connections.close()
