"""An in-process cache of ranked boards, kept consistent by the change feed.

For each competition, a web process caches the entry columns of its tracks, these entries judged under the current
rules, and the boards ranked from them (:mod:`scorer.leaderboard.cached_boards`). Before a request reads a board, the
process asks the change feed (:mod:`scorer.db.leaderboard.changes`) what has been committed since the last request. It
drops exactly the parts that depend on these changes. So a board is never older than the request that reads it, and only
the columns of changed entries are read again. A new tau reads no entries. The database stays the source of truth: with
an empty cache, the boards are the same but slower.

The request that notices a change ranks the boards in demand again. Other requests wait for it, so visitors may be shown
the earlier board for at most a second (:meth:`BoardCache.former_snapshot`).

Boards of past moments do not delay current boards. They are made one at a time, from immutable columns and without the
competition's lock. Beyond ``MAX_PAST_READERS`` requests at a time, further ones are refused.

Lists of competitions show how many teams have a rank on each public board. Ranking every board for that would exceed
the cache, so these numbers are cached separately. One statement reads the change feeds of all these competitions.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from threading import BoundedSemaphore, Lock
from typing import Protocol, TypeVar

from sqlalchemy.orm import Session

from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard.changes import ChangeFeed, ManyFeeds
from scorer.db.session import Connection, ConnectionLost, Connections, end_reading
from scorer.db.tables import Competition, Track
from scorer.errors import TooMany
from scorer.leaderboard.board_snapshots import BoardKey, BoardSnapshot, FormerSnapshot
from scorer.leaderboard.cached_boards import CachedBoards
from scorer.lifecycle import TrackKind
from scorer.ranking.columns import Ints
from scorer.ranking.vectorised import BoardListing, RankedBoard

T = TypeVar("T")
MAX_COMPETITIONS = 16
"""The number of competitions with cached boards. The least recently used is dropped first."""
MAX_BYTES = 300_000_000
"""The largest total size of all cached arrays, in bytes. Beyond it, the least recently used competitions are dropped,
but never the one in use: about 220 MB at a million entries on two tracks."""
MAX_PAST_READERS = 4
"""Requests for past boards at a time: one is served, the others wait."""
PAST_RETRY_SECONDS = 2
"""When a refused request for a past board may try again."""


class BoardTracks(Protocol):
    """A competition and its tracks, as a :class:`CompetitionState` has them. Boards need nothing more."""

    @property
    def competition(self) -> Competition: ...

    @property
    def tracks(self) -> Mapping[TrackKind, Track]: ...


class BoardCache:
    """The ranked boards that a process caches, of the most recently used competitions. Safe to use from any thread.

    ``connections`` must be a separate pool. Requests that wait for a board hold connections of the other pool, so they
    cannot keep the cache from reading.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = Lock()
        self._boards: OrderedDict[int, CachedBoards] = OrderedDict()
        """By competition id; ``_ids`` maps slugs to these ids."""
        self._ids: dict[str, int] = {}
        self._team_counts = TeamCounts()
        self._past_readers = BoundedSemaphore(MAX_PAST_READERS)
        self._making_past = Lock()

    @property
    def nbytes(self) -> int:
        return sum(boards.nbytes for boards in self._boards.values())

    def current_snapshot(self, slug: str, now: datetime) -> BoardSnapshot:
        """A competition's state and change counts as of this call. ``NotFound`` if there is no such competition."""
        return self._retry_after_lost_connection(lambda: self._current_snapshot(slug, now))

    def _retry_after_lost_connection(self, read: Callable[[], T]) -> T:
        """The result of ``read``. After a lost connection, empties the cache and reads again, because the server may
        have been restored to an earlier state, which the feed does not report."""
        try:
            return read()
        except ConnectionLost:
            with self._lock:
                self._boards.clear()
                self._ids.clear()
                self._team_counts = TeamCounts()
            return read()

    def _current_snapshot(self, slug: str, now: datetime) -> BoardSnapshot:
        boards = self._boards.get(self._ids.get(slug, 0))
        if boards is None:
            return self._load(slug, now)
        begun_before = boards.begun_refreshes
        with boards.lock:
            if boards.refreshed <= begun_before:  # else a refresh that began after this request has succeeded
                self._refresh(boards)
            if boards.in_demand:
                self._rank_again(boards)
            if boards.state is None:  # read after the feed, so never older than its counts
                boards.state = self._read_state(slug, now)
            state = competition_state.at_moment(boards.state, now)
            boards.served = BoardSnapshot(state, boards.public_id, boards.feed.counts.copy())
            return boards.served

    def _rank_again(self, boards: CachedBoards) -> None:
        """Rank the boards in demand. If only ranks have changed, visitors may be shown the earlier boards meanwhile."""
        if boards.served is not None and boards.state is not None:
            boards.former = FormerSnapshot.of(boards.served)
        try:
            with self._connections.snapshot() as connection:
                boards.refresh(connection)
                boards.rank_again(connection)
        finally:
            boards.former = None

    def former_snapshot(self, slug: str, now: datetime) -> BoardSnapshot | None:
        """The snapshot before the change, while the boards are ranked again and for at most a second. Never waits."""
        boards = self._boards.get(self._ids.get(slug, 0))
        former = None if boards is None else boards.former
        if former is None or not former.may_be_shown:
            return None
        snapshot = former.snapshot
        return snapshot._replace(state=competition_state.at_moment(snapshot.state, now))

    def _load(self, slug: str, now: datetime) -> BoardSnapshot:
        state = self._read_state(slug, now)
        with self._locked_boards(state):
            self._ids[slug] = state.competition.id
        return self._current_snapshot(slug, now)

    def _read_state(self, slug: str, now: datetime) -> CompetitionState:
        with self._connections.snapshot() as connection, Session(connection, expire_on_commit=False) as session:
            state = competition_state.load_state(session, slug, now)
            session.expunge_all()
            return state

    def ranked_board(self, state: BoardTracks, kind: TrackKind, *, late: bool, refreshed: bool = False) -> RankedBoard:
        """The ranked board of a track as of this call (``late``: that of late entries). With ``refreshed``, as of the
        snapshot that the caller has taken."""
        key = BoardKey(state.tracks[kind].id, late, None)
        return self._retry_after_lost_connection(lambda: self._ranked_board(state, key, refreshed=refreshed))

    def _ranked_board(self, state: BoardTracks, key: BoardKey, *, refreshed: bool = False) -> RankedBoard:
        return self._cached_or_made(
            state,
            lambda boards: boards.cached(key),
            lambda boards, connection: boards.ranked_board(connection, key.track_id, late=key.late),
            refreshed=refreshed,
        )

    def _cached_or_made(
        self,
        state: BoardTracks,
        find: Callable[[CachedBoards], T | None],
        make: Callable[[CachedBoards, Connection], T],
        *,
        refreshed: bool,
    ) -> T:
        with self._locked_boards(state) as boards:
            if not refreshed:
                self._refresh(boards)
            found = find(boards)
            if found is not None:
                return found
            with self._connections.snapshot() as connection:
                # Data read here is newer than the last refresh, so the feed must be read in the same snapshot.
                boards.refresh(connection)
                return make(boards, connection)

    def day_start_listing(
        self, state: BoardTracks, kind: TrackKind, at: datetime, *, refreshed: bool = False
    ) -> BoardListing:
        """The board of a track when the day began (``at``), which every first page compares with. ``refreshed``: see
        :meth:`ranked_board`."""
        key = BoardKey(state.tracks[kind].id, late=False, at=at)
        return self._retry_after_lost_connection(
            lambda: self._cached_or_made(
                state,
                lambda boards: boards.cached_day_start(key),
                lambda boards, connection: boards.day_start_listing(connection, key),
                refreshed=refreshed,
            )
        )

    def past_listing(self, state: BoardTracks, kind: TrackKind, *, late: bool, at: datetime) -> BoardListing:
        """The board of a track at any past moment. ``TooMany`` (``past-boards-busy``) if too many requests wait."""
        if not self._past_readers.acquire(blocking=False):
            message = f"Too many requests for past boards. Try again in {PAST_RETRY_SECONDS} s."
            raise TooMany("past-boards-busy", message, retry_after=PAST_RETRY_SECONDS)
        try:
            key = BoardKey(state.tracks[kind].id, late, at)
            with self._making_past:
                return self._retry_after_lost_connection(lambda: self._past_listing(state, key))
        finally:
            self._past_readers.release()

    def _past_listing(self, state: BoardTracks, key: BoardKey) -> BoardListing:
        with ExitStack() as snapshot:
            with self._locked_boards(state) as boards:
                connection = snapshot.enter_context(self._connections.snapshot())
                boards.refresh(connection)
                past = boards.begin_past_board(connection, key)
                generation = boards.generation
            past.normalise(connection)
            listing = boards.past_listing(past.key)
            if listing is None and past.key.at is not None:
                listing = past.listing(connection)
        # Release the connection first: a thread that holds the lock may be waiting for it.
        if listing is None:
            return self._ranked_board(state, past.key)
        with boards.lock:
            boards.keep_past(past, listing, generation)
        return listing

    def team_counts(self, states: Sequence[CompetitionState]) -> dict[int, int]:
        """How many teams have a rank on the public board of each competition, by competition id."""
        return self._retry_after_lost_connection(
            lambda: self._team_counts.read_counts(states, self._connections, self._count_teams)
        )

    def _count_teams(self, state: CompetitionState) -> int:
        return len(self.ranked_board(state, "public", late=False))

    def teams_named(self, state: BoardTracks, text: str, listed: Ints) -> Ints:
        """The ids in ``listed`` of teams with ``text`` in their name, ignoring case and comparing in NFKC."""
        return self._retry_after_lost_connection(lambda: self._teams_named(state, text, listed))

    def _teams_named(self, state: BoardTracks, text: str, listed: Ints) -> Ints:
        with self._locked_boards(state) as boards, self._connections.snapshot() as connection:
            boards.refresh(connection)
            return boards.teams_named(connection, text, listed)

    def _refresh(self, boards: CachedBoards) -> None:
        """Ask the feed for changes: one statement, except for the first time, which needs a snapshot."""
        with self._connections.snapshot() if boards.feed.is_new else self._connections.moment() as connection:
            boards.refresh(connection)

    @contextmanager
    def _locked_boards(self, state: BoardTracks) -> Iterator[CachedBoards]:
        """The cache of a competition, locked for the caller; an empty one if there is none."""
        with self._lock:
            boards = self._boards.get(state.competition.id)
            public, private = (state.tracks[kind].id for kind in ("public", "private"))
            # A new private track has a higher id and needs a new cache. A lower id is an earlier track, of a past
            # moment.
            if boards is None or private > boards.private_id:
                boards = CachedBoards(public, private, state.competition.final_picks, ChangeFeed(state.competition.id))
                self._boards[state.competition.id] = boards
            self._boards.move_to_end(state.competition.id)
            while len(self._boards) > 1 and (len(self._boards) > MAX_COMPETITIONS or self.nbytes > MAX_BYTES):
                self._boards.popitem(last=False)
        with boards.lock:
            yield boards


SNAPSHOT_KEY = "board_snapshot"
"""Key of the board snapshot that a request has taken, in ``Session.info``."""


def has_snapshot(session: Session, competition: Competition) -> bool:
    """Whether the request of this session has taken a snapshot of the competition, so its boards are new enough."""
    snapshot: BoardSnapshot | None = session.info.get(SNAPSHOT_KEY)
    return snapshot is not None and snapshot.state.competition.id == competition.id


def find_cache(session: Session) -> BoardCache | None:
    """The board cache of this session's process. None if the process has none (workers, commands), or if the session
    has written: then it keeps its connection, and the cache would need a second one."""
    cache: BoardCache | None = session.info.get("board_cache")
    return cache if cache is not None and end_reading(session) else None


class TeamCounts:
    """How many teams have a rank, by competition, as cached by a process. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._feeds = ManyFeeds()
        self._counts: dict[int, int] = {}
        """By competition id."""

    def read_counts(
        self,
        states: Sequence[CompetitionState],
        connections: Connections,
        count: Callable[[CompetitionState], int],
    ) -> dict[int, int]:
        """The number of each competition, by competition id. Calls ``count`` for boards that have changed."""
        with self._lock:
            with connections.moment() as connection:
                for id_ in self._feeds.changed(connection, self._counts.keys()):
                    del self._counts[id_]
            # Counted after the feeds were read, so the numbers are never older.
            for state in states:
                if state.competition.id not in self._counts:
                    self._counts[state.competition.id] = count(state)
            return {state.competition.id: self._counts[state.competition.id] for state in states}
