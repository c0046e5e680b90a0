"""An in-process cache of ranked boards, kept consistent by the change feed.

Of each competition a web process keeps, from raw to finished: the entry columns of its tracks, those entries judged
under the current rules, and the ranked boards made of them. Before a request reads a board, the process asks the change
feed (:mod:`scorer.db.leaderboard.changes`) what has been committed since its last request, and drops exactly what
depends on it. So a board is as new as the request that reads it, measured entries alone are read again, and a new tau
reads nothing but tau. The database stays the truth: an empty cache gives the same boards, more slowly.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import NamedTuple, TypeVar

from sqlalchemy.orm import Session

from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db.leaderboard import columns
from scorer.db.leaderboard.changes import ChangeCounts, ChangeFeed, FeedRow
from scorer.db.session import Connection, ConnectionLost, Connections
from scorer.db.tables import Competition, Track
from scorer.lifecycle import TrackKind
from scorer.ranking.columns import EntryColumns, FinalPicks
from scorer.ranking.vectorised import JudgedEntries, RankedBoard, finals_of, order_of

T = TypeVar("T")
MAX_COMPETITIONS = 16
"""Competitions whose boards are kept; the least recently used is dropped first."""
MAX_BOARDS = 12
"""Ranked boards kept of one competition: of two tracks, of late entries, of past moments."""


class BoardKey(NamedTuple):
    """Which board of a competition: its track, whether of late entries, and of which past moment (None: of now)."""

    track_id: int
    late: bool
    at: datetime | None


class BoardSnapshot(NamedTuple):
    """A competition's state and its change counts at one moment: all that its boards depend on.

    Only ``state.missing`` may be older, where it is about reference images: the feed does not report those.
    """

    state: CompetitionState
    public_id: int
    counts: ChangeCounts

    def version(self, track_id: int, *, labels: bool) -> tuple[int, ...]:
        """The version of a track's board: equal versions, equal boards."""
        return self.counts.version({track_id, self.public_id}, labels=labels)


@dataclass
class CachedBoards:
    """What is cached of one competition. One thread at a time uses it, holding ``lock``."""

    public_id: int
    private_id: int
    max_final_picks: int
    """How many final picks a team has."""
    feed: ChangeFeed
    state: CompetitionState | None = None
    lock: Lock = field(default_factory=Lock)
    _columns: dict[int, EntryColumns] = field(default_factory=dict)
    """By track, as are ``_stale_refs`` (entries to read again) and ``_judged``."""
    _stale_refs: dict[int, set[int]] = field(default_factory=dict)
    _judged: dict[int, JudgedEntries] = field(default_factory=dict)
    _picks: FinalPicks | None = None
    _boards: OrderedDict[BoardKey, RankedBoard] = field(default_factory=OrderedDict)

    def refresh(self, connection: Connection) -> None:
        """Drop everything that the change feed reports as changed since the last call."""
        for change in self.feed.read(connection):
            self._invalidate(change)

    def _invalidate(self, change: FeedRow) -> None:
        if change.kind == "label":
            return  # labels are shown beside ranks and change none
        if change.kind == "entries":
            self._invalidate_entries({change.track_id} if change.track_id else set(self._columns), change.refs)
        if change.kind == "picks":
            self._picks = None
        if change.kind in {"competition", "publication", "track"}:
            self.state = None
        # A private board depends on the public one, by which teams without picks are ranked; never the reverse.
        all_tracks = change.track_id in {None, self.public_id}
        for track_id in [id_ for id_ in self._judged if all_tracks or id_ != self.public_id]:
            del self._judged[track_id]
        for key in [key for key in self._boards if all_tracks or key.track_id != self.public_id]:
            del self._boards[key]

    def _invalidate_entries(self, track_ids: set[int], refs: Collection[int] | None) -> None:
        for track_id in track_ids & self._columns.keys():
            if refs is None:  # too many to name
                del self._columns[track_id]
            else:
                self._stale_refs.setdefault(track_id, set()).update(refs)

    def ranked_board(self, connection: Connection, key: BoardKey) -> RankedBoard:
        """The board under ``key``, ranked now if it is not cached."""
        board = self.cached(key)
        if board is None:
            judged = self._judge(connection, key.track_id, key.at)
            if key.track_id != self.public_id:  # the private track, or a former one of a past moment
                judged = replace(judged, finals=self._finals(connection, key.at))
            board = self._boards[key] = order_of(judged, late=key.late)
            while len(self._boards) > MAX_BOARDS:
                self._boards.popitem(last=False)
        return board

    def cached(self, key: BoardKey) -> RankedBoard | None:
        """The board under ``key`` if it is cached; it then counts as the most recently used."""
        if key in self._boards:
            self._boards.move_to_end(key)
        return self._boards.get(key)

    def _finals(self, connection: Connection, at: datetime | None) -> FinalPicks:
        """The entries that the private board ranks: picks, and for teams without picks their best public entries."""
        public = self._judge(connection, self.public_id, at)
        competition_id = self.feed.competition_id
        if at is not None:
            return finals_of(public, columns.picks_of(connection, competition_id, at=at), self.max_final_picks)
        if self._picks is None:
            self._picks = columns.picks_of(connection, competition_id)
        return finals_of(public, self._picks, self.max_final_picks)

    def _judge(self, connection: Connection, track_id: int, at: datetime | None) -> JudgedEntries:
        if at is not None:
            rules = columns.judging_rules_of(connection, track_id, at=at)
            return JudgedEntries(self._columns_at(connection, track_id, at), rules)
        if track_id not in self._judged:
            rules = columns.judging_rules_of(connection, track_id)
            self._judged[track_id] = JudgedEntries(self._current_columns(connection, track_id), rules)
        return self._judged[track_id]

    def _current_columns(self, connection: Connection, track_id: int) -> EntryColumns:
        """The columns of a track's entries, of which those that have changed are read again."""
        stale = self._stale_refs.pop(track_id, set())
        if track_id not in self._columns:
            self._columns[track_id] = columns.columns_of(connection, track_id)
        elif stale:
            reread = columns.columns_of(connection, track_id, refs=stale)
            self._columns[track_id] = self._columns[track_id].without(stale).updated_with(reread)
        return self._columns[track_id]

    def _columns_at(self, connection: Connection, track_id: int, at: datetime) -> EntryColumns:
        """The columns as they were at a past moment: an entry that was measured later appears with its newest earlier
        measurement, or not at all. Only those entries are read, unless they are more than half of all."""
        current = self._current_columns(connection, track_id)
        moment = columns.to_microseconds(at)
        unchanged = current.measured_at <= moment
        measured_later = current.ref[~unchanged]
        if len(measured_later) > len(current) // 2:
            return columns.columns_of(connection, track_id, at=at)
        if not len(measured_later):
            return current.take(unchanged)
        earlier = columns.columns_of(connection, track_id, refs=measured_later.tolist(), at=at)
        return current.take(unchanged).updated_with(earlier)


class BoardCache:
    """The ranked boards that one process keeps, of the most recently used competitions; safe to use from any thread.

    ``connections`` is a pool of its own: requests that wait for a board hold connections of the other pool, so they
    cannot keep the cache from reading.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lock = Lock()
        self._boards: OrderedDict[int, CachedBoards] = OrderedDict()
        """By the id of the competition; ``_ids`` has that by slug."""
        self._ids: dict[str, int] = {}

    def current_snapshot(self, slug: str, now: datetime) -> BoardSnapshot:
        """A competition's state and change counts as of this call. ``NotFound`` if there is no such competition."""
        return self._retry_after_lost_connection(lambda: self._current_snapshot(slug, now))

    def _retry_after_lost_connection(self, read: Callable[[], T]) -> T:
        """What ``read`` returns; after a lost connection the cache is emptied first. The server may have been restored
        to an earlier state, and the feed reports nothing of that."""
        try:
            return read()
        except ConnectionLost:
            with self._lock:
                self._boards.clear()
                self._ids.clear()
            return read()

    def _current_snapshot(self, slug: str, now: datetime) -> BoardSnapshot:
        boards = self._boards.get(self._ids.get(slug, 0))
        if boards is None:
            return self._load(slug, now)
        with boards.lock:
            self._refresh(boards)
            if boards.state is None:  # read after the feed, so it is as new as the feed's counts, or newer
                boards.state = self._read_state(slug, now)
            state = competition_state.at_moment(boards.state, now)
            return BoardSnapshot(state, boards.public_id, boards.feed.counts.copy())

    def _load(self, slug: str, now: datetime) -> BoardSnapshot:
        """The snapshot of a competition of which nothing is cached yet."""
        state = self._read_state(slug, now)
        with self._boards_of(state.competition, state.tracks):
            self._ids[slug] = state.competition.id
        return self._current_snapshot(slug, now)

    def _read_state(self, slug: str, now: datetime) -> CompetitionState:
        with self._connections.snapshot() as connection, Session(connection, expire_on_commit=False) as session:
            state = competition_state.state_of(session, slug, now)
            session.expunge_all()
            return state

    def ranked_board(
        self,
        competition: Competition,
        tracks: Mapping[TrackKind, Track],
        kind: TrackKind,
        *,
        late: bool = False,
        at: datetime | None = None,
    ) -> RankedBoard:
        """The ranked board of a track as of this call: of late entries (``late``), as it was at a past moment
        (``at``)."""
        key = BoardKey(tracks[kind].id, late, at)
        return self._retry_after_lost_connection(lambda: self._ranked_board(competition, tracks, key))

    def _ranked_board(self, competition: Competition, tracks: Mapping[TrackKind, Track], key: BoardKey) -> RankedBoard:
        with self._boards_of(competition, tracks) as boards:
            self._refresh(boards)
            board = boards.cached(key)
            if board is not None:
                return board
            with self._connections.snapshot() as connection:
                # What is read here is newer than the refresh above: the feed must be read in the same snapshot.
                boards.refresh(connection)
                return boards.ranked_board(connection, key)

    def _refresh(self, boards: CachedBoards) -> None:
        """Ask the feed what is new: one statement, except the first time, which needs a snapshot."""
        with self._connections.snapshot() if boards.feed.is_new else self._connections.moment() as connection:
            boards.refresh(connection)

    @contextmanager
    def _boards_of(self, competition: Competition, tracks: Mapping[TrackKind, Track]) -> Iterator[CachedBoards]:
        """What is cached of a competition, or an empty cache for it, locked for the caller."""
        with self._lock:
            boards = self._boards.get(competition.id)
            public, private = (tracks[kind].id for kind in ("public", "private"))
            # A new private track has a higher id and needs a new cache; a lower id is a former track, of a past moment.
            if boards is None or private > boards.private_id:
                boards = CachedBoards(public, private, competition.final_picks, ChangeFeed(competition.id))
                self._boards[competition.id] = boards
            self._boards.move_to_end(competition.id)
            while len(self._boards) > MAX_COMPETITIONS:
                self._boards.popitem(last=False)
        with boards.lock:
            yield boards


def cache_of(session: Session) -> BoardCache | None:
    """The board cache of the process that this session belongs to; None where it has none (workers, commands)."""
    cache: BoardCache | None = session.info.get("board_cache")
    return cache
