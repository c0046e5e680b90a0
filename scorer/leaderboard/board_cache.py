"""The boards that a process keeps in memory: fields, and the orders made of them, until the feed tells that they are
old.

Nothing here is truth. Whoever looks asks the feed first, in a snapshot of what is committed, so a board is as new as
the request that asks for it. What changed is read anew; a change of tau reads nothing but tau.
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
from scorer.ranking.columns import EntryColumns, FinalPicks
from scorer.ranking.vectorised import JudgedEntries, RankedBoard, finals_of, order_of

T = TypeVar("T")
MAX_COMPETITIONS = 16
"""How many competitions' boards are kept, those that were looked at last."""
MAX_BOARDS = 12
"""How many orders of one competition are kept: of two tracks, of late entries, of past moments."""


class BoardKey(NamedTuple):
    """Which order of a competition."""

    track_id: int
    late: bool
    at: datetime | None


class BoardSnapshot(NamedTuple):
    """A competition as it stands, as far as boards depend on it (what is missing of its references may be old), and
    how many changes there have been."""

    state: CompetitionState
    public_id: int
    counts: ChangeCounts

    def version(self, track_id: int, *, labels: bool) -> tuple[int, ...]:
        """What a track's board depends on: equal versions, equal boards."""
        return self.counts.version({track_id, self.public_id}, labels=labels)


@dataclass
class CachedBoards:
    """What is kept of one competition; used by one thread at a time."""

    public_id: int
    private_id: int
    most: int
    """How many final picks a team has."""
    reader: ChangeFeed
    state: CompetitionState | None = None
    lock: Lock = field(default_factory=Lock)
    _fields: dict[int, EntryColumns] = field(default_factory=dict)
    _stale: dict[int, set[int]] = field(default_factory=dict)
    _judged: dict[int, JudgedEntries] = field(default_factory=dict)
    _picks: FinalPicks | None = None
    _orders: OrderedDict[BoardKey, RankedBoard] = field(default_factory=OrderedDict)

    def look(self, connection: Connection) -> None:
        """Forget what is old."""
        for news in self.reader.read(connection):
            self._forget(news)

    def _forget(self, news: FeedRow) -> None:
        if news.kind == "label":
            return  # ranks nobody
        if news.kind == "entries":
            self._forget_entries({news.track_id} if news.track_id else set(self._fields), news.refs)
        if news.kind == "picks":
            self._picks = None
        if news.kind in {"competition", "publication", "track"}:
            self.state = None
        # Private boards take from the public one what teams are ranked by; the public one takes nothing.
        everywhere = news.track_id in {None, self.public_id}
        for track_id in [each for each in self._judged if everywhere or each != self.public_id]:
            del self._judged[track_id]
        for asked in [each for each in self._orders if everywhere or each.track_id != self.public_id]:
            del self._orders[asked]

    def _forget_entries(self, tracks: set[int], refs: Collection[int] | None) -> None:
        for track in tracks & self._fields.keys():
            if refs is None:
                del self._fields[track]
            else:
                self._stale.setdefault(track, set()).update(refs)

    def order(self, connection: Connection, asked: BoardKey) -> RankedBoard:
        """A board, made anew if it is not kept."""
        found = self.find(asked)
        if found is None:
            judged = self._judge(connection, asked.track_id, asked.at)
            if asked.track_id != self.public_id:  # the private track, or a former one that is asked for the past
                judged = replace(judged, finals=self._finals(connection, asked.at))
            found = self._orders[asked] = order_of(judged, late=asked.late)
            while len(self._orders) > MAX_BOARDS:
                self._orders.popitem(last=False)
        return found

    def find(self, asked: BoardKey) -> RankedBoard | None:
        """A board that is kept."""
        if asked in self._orders:
            self._orders.move_to_end(asked)
        return self._orders.get(asked)

    def _finals(self, connection: Connection, at: datetime | None) -> FinalPicks:
        public, competition_id = self._judge(connection, self.public_id, at), self.reader.competition_id
        if at is not None:
            return finals_of(public, columns.picks_of(connection, competition_id, at=at), self.most)
        if self._picks is None:
            self._picks = columns.picks_of(connection, competition_id)
        return finals_of(public, self._picks, self.most)

    def _judge(self, connection: Connection, track_id: int, at: datetime | None) -> JudgedEntries:
        if at is not None:
            return JudgedEntries(
                self._past(connection, track_id, at), columns.judging_rules_of(connection, track_id, at=at)
            )
        if track_id not in self._judged:
            judged = JudgedEntries(self._field(connection, track_id), columns.judging_rules_of(connection, track_id))
            self._judged[track_id] = judged
        return self._judged[track_id]

    def _field(self, connection: Connection, track_id: int) -> EntryColumns:
        stale = self._stale.pop(track_id, set())
        if track_id not in self._fields:
            self._fields[track_id] = columns.columns_of(connection, track_id)
        elif stale:
            fresh = columns.columns_of(connection, track_id, refs=stale)
            self._fields[track_id] = self._fields[track_id].without(stale).updated_with(fresh)
        return self._fields[track_id]

    def _past(self, connection: Connection, track_id: int, at: datetime) -> EntryColumns:
        """The field as it was: what is measured since is left out, or is what an older measurement says."""
        now, then = self._field(connection, track_id), columns.to_microseconds(at)
        known = now.measured_at <= then
        since = now.ref[~known]
        if len(since) > len(now) // 2:
            return columns.columns_of(connection, track_id, at=at)
        older = columns.columns_of(connection, track_id, refs=since.tolist(), at=at) if len(since) else now.take(since)
        return now.take(known).updated_with(older)


class BoardCache:
    """What one process keeps. ``connections`` are its own, so that nobody who waits for it can stand in its way."""

    def __init__(self, connections: Connections) -> None:
        self._connections, self._lock = connections, Lock()
        self._kept: OrderedDict[int, CachedBoards] = OrderedDict()
        self._ids: dict[str, int] = {}

    def glance(self, slug: str, now: datetime) -> BoardSnapshot:
        """A competition and the counts of what has changed. ``NotFound`` if there is none."""
        return self._surely(lambda: self._glance(slug, now))

    def _surely(self, read: Callable[[], T]) -> T:
        """What ``read`` finds. A server that ended a connection may have been put back to an earlier state, of which
        the feed tells nothing: then nothing that was kept is believed."""
        try:
            return read()
        except ConnectionLost:
            with self._lock:
                self._kept.clear()
                self._ids.clear()
            return read()

    def _glance(self, slug: str, now: datetime) -> BoardSnapshot:
        kept = self._kept.get(self._ids.get(slug, 0))
        if kept is None:
            return self._first(slug, now)
        with kept.lock:
            self._look(kept)
            if kept.state is None:  # read after the look, so it is as new as that, or newer
                kept.state = self._state(slug, now)
            return BoardSnapshot(competition_state.at_moment(kept.state, now), kept.public_id, kept.reader.counts.now())

    def _first(self, slug: str, now: datetime) -> BoardSnapshot:
        state = self._state(slug, now)
        with self._kept_of(state.competition, state.tracks):
            self._ids[slug] = state.competition.id
        return self._glance(slug, now)

    def _state(self, slug: str, now: datetime) -> CompetitionState:
        with self._connections.snapshot() as connection, Session(connection, expire_on_commit=False) as session:
            state = competition_state.state_of(session, slug, now)
            session.expunge_all()
            return state

    def order(
        self,
        competition: Competition,
        tracks: Mapping[str, Track],
        kind: str,
        *,
        late: bool = False,
        at: datetime | None = None,
    ) -> RankedBoard:
        """The board of a track."""
        asked = BoardKey(tracks[kind].id, late, at)
        return self._surely(lambda: self._order(competition, tracks, asked))

    def _order(self, competition: Competition, tracks: Mapping[str, Track], asked: BoardKey) -> RankedBoard:
        with self._kept_of(competition, tracks) as kept:
            self._look(kept)
            found = kept.find(asked)
            if found is not None:
                return found
            with self._connections.snapshot() as connection:
                kept.look(connection)
                return kept.order(connection, asked)

    def _look(self, kept: CachedBoards) -> None:
        """A look is one statement, except the first."""
        with self._connections.snapshot() if kept.reader.is_new else self._connections.moment() as connection:
            kept.look(connection)

    @contextmanager
    def _kept_of(self, competition: Competition, tracks: Mapping[str, Track]) -> Iterator[CachedBoards]:
        with self._lock:
            kept = self._kept.get(competition.id)
            public, private = (tracks[kind].id for kind in ("public", "private"))
            # A private track is replaced by one with a higher id; a lower one is asked for the past.
            if kept is None or private > kept.private_id:
                kept = CachedBoards(public, private, competition.final_picks, ChangeFeed(competition.id))
                self._kept[competition.id] = kept
            self._kept.move_to_end(competition.id)
            while len(self._kept) > MAX_COMPETITIONS:
                self._kept.popitem(last=False)
        with kept.lock:
            yield kept


def cache_of(session: Session) -> BoardCache | None:
    """The memory of the process that this session belongs to, if it keeps one."""
    memory: BoardCache | None = session.info.get("memory")
    return memory
