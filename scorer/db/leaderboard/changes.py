"""The change feed of boards: the rows of ``board_changes`` that are new since the last read, and how many there are.

A row can be committed after one with a higher id, so ids do not show which rows are new. Transaction ids do: all
transactions below a snapshot's xmin have ended. So a row that a later snapshot sees for the first time has an xid of at
least that xmin. After a restore into another server, rows have xids of the old one. Such rows may be reported again,
which costs one read.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Connection, Row, Text, cast, func, select, text
from sqlalchemy.orm import Session

from scorer.db.tables import BoardChange


def _number(xid: Any) -> Any:
    return cast(cast(xid, Text), BigInteger)


XMIN = _number(func.pg_snapshot_xmin(func.pg_current_snapshot()))
NEW_CHANGES_QUERY = text("""
    SELECT snapshot.horizon, change.id, change.xid, change.track_id, change.kind, change.submission_refs
    FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon) AS snapshot
    LEFT JOIN board_changes AS change ON change.competition_id = :competition AND change.xid >= :horizon
""")
"""Runs for every page that is read, so it is plain text that needs no compiling."""

CHANGED_COMPETITIONS_QUERY = text("""
    SELECT feeds.horizon, change.competition_id, change.id, change.xid
    FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon) AS feeds
    LEFT JOIN board_changes AS change
    ON change.competition_id = ANY(:competitions) AND change.xid >= :horizon
        AND change.kind NOT IN ('label', 'shown', 'hidden-shown')
""")


EXTRA_KINDS = frozenset({"label", "shown", "hidden-shown"})
"""The kinds of changes that do not affect ranks: changes of labels, of shown tracks that everybody sees, and of shown
tracks that only organizers see until the final board is published."""
SEEN_BY_ALL = frozenset({"shown"})
"""The kinds among these that everybody sees on a board at any time."""


class FeedRow(NamedTuple):
    """A row of the feed: the track with the changed board (None: both), the kind, and the entries (None: too many to
    list)."""

    track_id: int | None
    kind: str
    refs: Sequence[int] | None


@dataclass
class ChangeCounts:
    """How many changes there have been, by track. Rows are only added, so equal counts mean equal boards."""

    by: Counter[Hashable] = field(default_factory=Counter)
    """By track id, or None for both tracks. For ``EXTRA_KINDS``, by kind."""

    def add(self, track_id: int | None, kind: str, count: int = 1) -> None:
        self.by[kind if kind in EXTRA_KINDS else track_id] += count

    def copy(self) -> "ChangeCounts":
        return ChangeCounts(self.by.copy())

    def version(self, track_ids: Collection[int], *, extra_kinds: Collection[str] = ()) -> tuple[int, ...]:
        return self.by[None], *(self.by[key] for key in (*sorted(track_ids), *sorted(extra_kinds)))


@dataclass
class ChangeFeed:
    """A reader of one competition's feed that remembers the rows it has read."""

    competition_id: int
    counts: ChangeCounts = field(default_factory=ChangeCounts)
    _horizon: int | None = None
    """xmin of the newest snapshot read. ``_seen`` has the ids of rows at or above it that were read."""
    _seen: frozenset[int] = frozenset()

    @property
    def is_new(self) -> bool:
        """Whether nothing has been read yet. The first read needs a connection with the same snapshot for all
        statements."""
        return self._horizon is None

    def read(self, connection: Connection) -> list[FeedRow]:
        """The rows that are new in this connection's snapshot. The first read only counts rows and returns none."""
        if self._horizon is None:
            self._begin(connection)
            return []
        rows = self._rows_from(connection, self._horizon)
        new = [row for row in rows if row.id is not None and row.id not in self._seen]
        self._set_horizon(rows)
        for row in new:
            self.counts.add(row.track_id, row.kind)
        return [FeedRow(row.track_id, row.kind, row.submission_refs) for row in new]

    def _begin(self, connection: Connection) -> None:
        self.counts = _counted(connection, self.competition_id)
        xmin = int(connection.scalar(select(XMIN)) or 0)
        self._set_horizon(self._rows_from(connection, xmin))

    def _rows_from(self, connection: Connection, horizon: int) -> Sequence[Row[Any]]:
        parameters = {"competition": self.competition_id, "horizon": horizon}
        return connection.execute(NEW_CHANGES_QUERY, parameters).all()

    def _set_horizon(self, rows: Sequence[Row[Any]]) -> None:
        self._horizon = rows[0].horizon
        self._seen = frozenset(row.id for row in rows if row.id is not None and row.xid >= rows[0].horizon)


class ManyFeeds:
    """A reader of the feeds of many competitions that remembers the rows it has read."""

    def __init__(self) -> None:
        self._horizon = 0
        self._seen: frozenset[int] = frozenset()

    def changed(self, connection: Connection, competition_ids: Collection[int]) -> set[int]:
        """The competitions with boards that may have changed since the last call. For a competition in its first call,
        it can report changes that the caller has already seen."""
        parameters = {"competitions": list(competition_ids), "horizon": self._horizon}
        rows = connection.execute(CHANGED_COMPETITIONS_QUERY, parameters).all()
        changed = {row.competition_id for row in rows if row.id is not None and row.id not in self._seen}
        self._horizon = rows[0].horizon
        self._seen = frozenset(row.id for row in rows if row.id is not None and row.xid >= rows[0].horizon)
        return changed


def _counted(connection: Connection | Session, competition_id: int) -> ChangeCounts:
    query = (
        select(BoardChange.track_id, BoardChange.kind, func.count().label("number"))
        .where(BoardChange.competition_id == competition_id)
        .group_by(BoardChange.track_id, BoardChange.kind)
    )
    counts = ChangeCounts()
    for row in connection.execute(query):
        counts.add(row.track_id, row.kind, row.number)
    return counts


def compute_version(
    session: Session, competition_id: int, track_ids: Collection[int], *, extra_kinds: Collection[str]
) -> tuple[int, ...]:
    """The version of a board of these tracks, counted in this transaction and including its own changes."""
    return _counted(session, competition_id).version(track_ids, extra_kinds=extra_kinds)
