"""The boards that a process keeps in memory: fields, and the orders made of them, until the feed says that they are old.

Nothing here is truth. Whoever looks asks the feed first, in a snapshot of what is committed, so a board is as new as
the request that asks for it. What changed is read anew; a change of tau reads nothing but tau.
"""

from collections import OrderedDict
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from sqlalchemy.orm import Session

from scorer.competitions import State
from scorer.db import changes, fields
from scorer.db.changes import News, Reader
from scorer.db.session import Connection, Connections
from scorer.field import Field, Finals, Judged, Order, finals_of, order_of

COMPETITIONS = 16
"""How many competitions' boards are kept, those that were looked at last."""
ORDERS = 12
"""How many orders of one competition are kept: of two tracks, of late entries, of past moments."""


class Asked(NamedTuple):
    """Which order of a competition."""

    track_id: int
    late: bool
    at: datetime | None


@dataclass
class Kept:
    """What is kept of one competition; used by one thread at a time."""

    public_id: int
    private_id: int
    most: int
    """How many final picks a team has."""
    reader: Reader
    lock: Lock = field(default_factory=Lock)
    _fields: dict[int, Field] = field(default_factory=dict)
    _stale: dict[int, set[int]] = field(default_factory=dict)
    _judged: dict[int, Judged] = field(default_factory=dict)
    _picks: Finals | None = None
    _orders: OrderedDict[Asked, Order] = field(default_factory=OrderedDict)

    def look(self, connection: Connection) -> None:
        """Forget what is old."""
        for news in self.reader.read(connection):
            self._forget(news)

    def _forget(self, news: News) -> None:
        tracks = {news.track_id} if news.track_id == self.private_id else {self.public_id, self.private_id}
        match news.kind:
            case "label" | "team":
                return
            case "entries" if news.refs is None:
                for track in tracks:
                    self._fields.pop(track, None)
            case "entries":
                for track in tracks & self._fields.keys():
                    self._stale.setdefault(track, set()).update(news.refs)
            case "picks":
                self._picks = None
        for track in tracks:
            self._judged.pop(track, None)
        for asked in [each for each in self._orders if each.track_id in tracks]:
            del self._orders[asked]

    def order(self, connection: Connection, asked: Asked) -> Order:
        """A board, made anew if it is not kept."""
        found = self._orders.get(asked)
        if found is None:
            judged = self._judge(connection, asked.track_id, asked.at)
            if asked.track_id == self.private_id:
                judged = replace(judged, finals=self._finals(connection, asked.at))
            found = self._orders[asked] = order_of(judged, late=asked.late)
            while len(self._orders) > ORDERS:
                self._orders.popitem(last=False)
        self._orders.move_to_end(asked)
        return found

    def _finals(self, connection: Connection, at: datetime | None) -> Finals:
        public, competition_id = self._judge(connection, self.public_id, at), self.reader.competition_id
        if at is not None:
            return finals_of(public, fields.picks_of(connection, competition_id, at=at), self.most)
        if self._picks is None:
            self._picks = fields.picks_of(connection, competition_id)
        return finals_of(public, self._picks, self.most)

    def _judge(self, connection: Connection, track_id: int, at: datetime | None) -> Judged:
        if at is not None:
            return Judged(self._past(connection, track_id, at), fields.terms_of(connection, track_id, at=at))
        if track_id not in self._judged:
            judged = Judged(self._field(connection, track_id), fields.terms_of(connection, track_id))
            self._judged[track_id] = judged
        return self._judged[track_id]

    def _field(self, connection: Connection, track_id: int) -> Field:
        stale = self._stale.pop(track_id, set())
        if track_id not in self._fields:
            self._fields[track_id] = fields.field_of(connection, track_id)
        elif stale:
            fresh = fields.field_of(connection, track_id, refs=stale)
            self._fields[track_id] = self._fields[track_id].without(stale).with_rows(fresh)
        return self._fields[track_id]

    def _past(self, connection: Connection, track_id: int, at: datetime) -> Field:
        """The field as it was: what is measured since is left out, or is what an older measurement says."""
        now, then = self._field(connection, track_id), fields.instant(at)
        known = now.measured_at <= then
        since = now.ref[~known]
        if len(since) > len(now) // 2:
            return fields.field_of(connection, track_id, at=at)
        older = fields.field_of(connection, track_id, refs=since.tolist(), at=at) if len(since) else now.chosen(since)
        return now.chosen(known).with_rows(older)


class Memory:
    """What one process keeps. ``connections`` are its own, so that nobody who waits for it can stand in its way."""

    def __init__(self, connections: Connections) -> None:
        self._connections, self._lock = connections, Lock()
        self._kept: OrderedDict[int, Kept] = OrderedDict()

    def version(self, state: State, kind: str, *, labels: bool) -> tuple[int, ...]:
        """What a track's board depends on: equal versions, equal boards."""
        with self._kept_of(state) as kept, self._for_a_look(kept) as connection:
            kept.look(connection)
            return kept.reader.counts.version(state.tracks[kind].id, labels=labels)

    def order(self, state: State, kind: str, *, late: bool = False, at: datetime | None = None) -> Order:
        """The board of a track."""
        with self._kept_of(state) as kept, self._connections.snapshot() as connection:
            kept.look(connection)
            return kept.order(connection, Asked(state.tracks[kind].id, late, at))

    def _for_a_look(self, kept: Kept) -> AbstractContextManager[Connection]:
        """A look is one statement, except the first."""
        return self._connections.snapshot() if kept.reader.is_new else self._connections.moment()

    @contextmanager
    def _kept_of(self, state: State) -> Iterator[Kept]:
        competition = state.competition
        with self._lock:
            kept = self._kept.get(competition.id)
            if kept is None:
                public, private = (state.tracks[kind].id for kind in ("public", "private"))
                kept = Kept(public, private, competition.final_picks, Reader(competition.id))
                self._kept[competition.id] = kept
            self._kept.move_to_end(competition.id)
            while len(self._kept) > COMPETITIONS:
                self._kept.popitem(last=False)
        with kept.lock:
            yield kept


def of(session: Session) -> Memory | None:
    """The memory of the process that this session belongs to, if it keeps one."""
    memory: Memory | None = session.info.get("memory")
    return memory
