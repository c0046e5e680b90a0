"""The feed of what changes boards: what is new since one looked, and how much there has been.

A row may be committed after one with a higher id, so no id tells what is new. Its transaction's number does: all
transactions below a snapshot's xmin are over, so what a later snapshot sees for the first time is not below it. (A
database that was restored into another server has rows with numbers from elsewhere: they may be seen as new once more,
which costs a look.)
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
"""Asked for every page that is read, so it is written out: nothing is left to be put together."""


class FeedRow(NamedTuple):
    """One row of the feed."""

    track_id: int | None
    kind: str
    refs: Sequence[int] | None


@dataclass
class ChangeCounts:
    """How many changes there have been, by whom they concern. Equal counts, equal boards: rows are only added."""

    by: Counter[Hashable] = field(default_factory=Counter)

    def add(self, track_id: int | None, kind: str, count: int = 1) -> None:
        """Count changes. Labels are seen by organizers alone."""
        self.by["label" if kind == "label" else track_id] += count

    def now(self) -> "ChangeCounts":
        """As they are now, for keeps."""
        return ChangeCounts(self.by.copy())

    def version(self, track_ids: Collection[int], *, labels: bool) -> tuple[int, ...]:
        """What a board of these tracks depends on; with ``labels``, for those who see them."""
        seen = (self.by[None], *(self.by[each] for each in sorted(track_ids)))
        return (*seen, self.by["label"]) if labels else seen


@dataclass
class ChangeFeed:
    """What one has read of a competition's feed."""

    competition_id: int
    counts: ChangeCounts = field(default_factory=ChangeCounts)
    _horizon: int | None = None
    _seen: frozenset[int] = frozenset()

    @property
    def is_new(self) -> bool:
        """Whether nothing was read yet. The first look needs a connection whose statements see the same moment."""
        return self._horizon is None

    def read(self, connection: Connection) -> list[FeedRow]:
        """What is new in this connection's snapshot. The first look only counts what there is."""
        if self._horizon is None:
            self._begin(connection)
            return []
        rows = connection.execute(
            NEW_CHANGES_QUERY, {"competition": self.competition_id, "horizon": self._horizon}
        ).all()
        new = [row for row in rows if row.id is not None and row.id not in self._seen]
        self._remember(rows)
        for row in new:
            self.counts.add(row.track_id, row.kind)
        return [FeedRow(row.track_id, row.kind, row.submission_refs) for row in new]

    def _begin(self, connection: Connection) -> None:
        self.counts = _counted(connection, self.competition_id)
        self._horizon = int(connection.scalar(select(XMIN)) or 0)
        given = {"competition": self.competition_id, "horizon": self._horizon}
        self._remember(connection.execute(NEW_CHANGES_QUERY, given).all())

    def _remember(self, rows: Sequence[Row[Any]]) -> None:
        self._horizon = rows[0].horizon
        self._seen = frozenset(row.id for row in rows if row.id is not None and row.xid >= rows[0].horizon)


def _counted(connection: Connection | Session, competition_id: int) -> ChangeCounts:
    counted = (
        select(BoardChange.track_id, BoardChange.kind, func.count().label("number"))
        .where(BoardChange.competition_id == competition_id)
        .group_by(BoardChange.track_id, BoardChange.kind)
    )
    counts = ChangeCounts()
    for row in connection.execute(counted):
        counts.add(row.track_id, row.kind, row.number)
    return counts


def version_of(session: Session, competition_id: int, track_ids: Collection[int], *, labels: bool) -> tuple[int, ...]:
    """What a board depends on, counted anew, with what this transaction itself has done."""
    return _counted(session, competition_id).version(track_ids, labels=labels)
