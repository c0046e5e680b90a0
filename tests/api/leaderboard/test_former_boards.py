"""While a board is ranked anew, visitors may be shown the one before; everybody else waits for the new one."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from threading import Event, Lock, Semaphore
from typing import Any

import pytest

from scorer.db.leaderboard.changes import ChangeFeed, FeedRow
from scorer.db.session import Connection, Connections
from scorer.leaderboard import board_snapshots, cached_boards
from scorer.leaderboard.board_cache import BoardCache
from scorer.leaderboard.past_boards import PastBoard
from scorer.lifecycle import utc_day
from scorer.ranking import vectorised
from scorer.ranking.vectorised import BoardListing, RankedBoard
from tests.api.conftest import Service
from tests.api.leaderboard.test_standings import Arena, board_of, ranks
from tests.factories import set_tau

BEFORE, AFTER = ["Ada", "Bob", "Eve"], ["Eve", "Ada", "Bob"]


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
    """Choose a tau under which the first two entries are penalised."""
    with arena.begin() as session:
        set_tau(session, arena.state, "public", 0.4, arena.now)


@contextmanager
def ranking_paused(monkeypatch: pytest.MonkeyPatch, arena: Arena) -> Iterator[tuple[Future[Any], ThreadPoolExecutor]]:
    """The time in which a visitor's request ranks a board anew; it goes on when the block ends, and then whatever was
    begun in the pool."""
    begun, go_on = Event(), Event()
    whole = vectorised.order_of

    def order_of(*arguments: Any, **options: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return whole(*arguments, **options)

    monkeypatch.setattr(cached_boards, "order_of", order_of)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(arena.board)
        assert begun.wait(60)
        try:
            yield first, pool
        finally:
            go_on.set()
    monkeypatch.undo()


def test_visitors_do_not_wait_while_a_board_is_ranked_anew(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert [ranks(each.result(60)) for each in (first, *waiting)] == [AFTER] * 3, "the organizer, and another page"
    assert ranks(arena.board()) == AFTER
    assert arena.service.call(None, "GET", path, headers={"If-None-Match": etag}).status_code == 200


def test_a_former_board_is_shown_for_a_moment_alone(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_snapshots, "MAX_FORMER_SECONDS", 0.0)
    retune(arena)
    with ranking_paused(monkeypatch, arena) as (_, pool):
        waiting = pool.submit(arena.board)
    assert ranks(waiting.result(60)) == AFTER


def test_a_publication_is_not_held_back(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only ranks may be a moment late, never what may be seen at all."""
    monkeypatch.setattr(board_snapshots, "MAX_FORMER_SECONDS", 600.0)
    arena.publish()
    with ranking_paused(monkeypatch, arena) as (_, pool):
        waiting = pool.submit(arena.get, track="private")
    assert waiting.result(60).status_code == 200


def test_the_board_of_the_days_start_is_made_again_only_where_it_has_changed(
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
        cache.ranked_board(state.competition, state.tracks, "public", late=False)
        listing = cache.day_start_listing(state.competition, state.tracks, "public", start)
        with arena.begin() as session:
            plain = board_of(session, state, "public", late=False, at=start)
        assert [row.ref for row in plain[1]] == listing.refs
        return listing.refs

    assert len(day_start_ranks()) == 3
    retune(arena)
    day_start_ranks()
    arena.entry("ada", 1.0, days=0)
    day_start_ranks()
    assert len(made) == 2, "a new tau changes nothing of it; after a measurement it was made anew"
    with arena.begin() as session:
        set_tau(session, arena.state, "public", 0.4, start - timedelta(days=1))
    day_start_ranks()
    assert len(made) == 3, "a threshold that was committed late belongs to it"
    connections.close()


def test_a_visitors_request_ranks_no_board_that_visitors_may_not_see(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked: list[RankedBoard] = []
    whole = vectorised.order_of

    def order_of(*arguments: Any, **options: Any) -> RankedBoard:
        ranked.append(whole(*arguments, **options))
        return ranked[-1]

    monkeypatch.setattr(cached_boards, "order_of", order_of)

    def rankings_of_a_public_page() -> int:
        ranked.clear()
        arena.board()
        return len(ranked)

    arena.board("organizer", track="private")
    retune(arena)
    assert rankings_of_a_public_page() == 1
    arena.publish(final=False)
    arena.board(track="private")
    retune(arena)
    assert rankings_of_a_public_page() == 2, "both are open to visitors, and were asked for"
    retune(arena)
    assert rankings_of_a_public_page() == 1, "nobody has asked for the private one since"
    arena.publish()
    arena.board(track="private")
    retune(arena)
    assert rankings_of_a_public_page() == 1, "the final board does not move"


class CountedLock:
    """A lock that knows how many threads have come to it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.came = Semaphore(0)

    def __enter__(self) -> None:
        self.came.release()
        self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def test_a_refresh_that_failed_serves_nobody_else(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two requests that wait together, the second asks the change feed itself where the first has failed."""
    connections = Connections(arena.service.context.settings, max_connections=2)
    cache = BoardCache(connections)
    before = cache.current_snapshot(arena.slug, arena.now)
    boards = next(iter(cache._boards.values()))
    boards.lock = lock = CountedLock()  # type: ignore[assignment]
    reads = count(1)
    go_on = Event()
    whole = ChangeFeed.read

    def read(self: ChangeFeed, connection: Connection) -> list[FeedRow]:
        number = next(reads)
        changes = whole(self, connection) if number != 2 else []
        if number == 1:
            assert go_on.wait(60)
        if number == 2:
            raise TimeoutError("the database was slow")
        return changes

    monkeypatch.setattr(ChangeFeed, "read", read)
    with ThreadPoolExecutor(3) as pool:
        requests = [pool.submit(cache.current_snapshot, arena.slug, arena.now)]
        assert lock.came.acquire(timeout=60)
        requests += [pool.submit(cache.current_snapshot, arena.slug, arena.now) for _ in range(2)]
        assert all(lock.came.acquire(timeout=60) for _ in range(2))
        retune(arena)
        go_on.set()
        outcomes = [each.exception(60) for each in requests]
    assert [type(each) for each in outcomes if each is not None] == [TimeoutError]
    newest = [each.result() for each, error in zip(requests[1:], outcomes[1:], strict=True) if error is None]
    assert [snapshot.counts != before.counts for snapshot in newest] == [True]
    connections.close()
