"""How many p-values of evidence lie where: false discovery rates are told by them, at a cost that does not grow."""

from sqlalchemy import ForeignKey, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.base import EXPIRING, Table, identity
from scorer.db.tables.competitions import Track


class PValueCount(Table):
    """How many entries' newest evidence on a track has a p-value in a bin
    (:mod:`scorer.metrics.statistics.false_discovery`), as far as changes were added up."""

    __tablename__ = "p_value_counts"

    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id), primary_key=True)
    quantity: Mapped[str] = mapped_column(primary_key=True)
    """The column of ``evidence``."""
    bin: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    entries: Mapped[int]


class PValueChange(Table):
    """A change of such a count, written by a trigger with each row of evidence: one more of it, one less of the row
    that it replaces. Only rows are added, so that no writer waits for another; the sweep adds them up and deletes
    them."""

    __tablename__ = "p_value_changes"
    __table_args__ = ({"info": EXPIRING},)

    id: Mapped[int] = identity()
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id), index=True)
    quantity: Mapped[str]
    bin: Mapped[int] = mapped_column(SmallInteger)
    change: Mapped[int] = mapped_column(SmallInteger)
