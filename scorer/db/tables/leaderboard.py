"""The change feed of boards: a row for each change, by which caches of boards know that they are old."""

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition, Track


class BoardChange(Table):
    """A change of something that a board depends on. Written by triggers, in the transaction of the change.

    Readers find new rows by ``xid``, the transaction's id, because a row may be committed after one with a higher id
    (:mod:`scorer.db.leaderboard.changes`). There is no counter to lock, so no writer waits for another.
    """

    __tablename__ = "board_changes"
    __table_args__ = (
        Index("ix_board_changes_news", "competition_id", "xid"),
        CheckConstraint(
            "kind IN ('entries', 'threshold', 'ruling', 'label', 'picks', 'merge', 'team', 'publication',"
            " 'competition', 'track', 'shown', 'hidden-shown')",
            name="kind",
        ),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    xid: Mapped[int] = mapped_column(BigInteger, server_default=text("(pg_current_xact_id()::text)::bigint"))
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    track_id: Mapped[int | None] = mapped_column(ForeignKey(Track.id))
    """The track whose board it changes; None: both."""
    kind: Mapped[str]
    submission_refs: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    """For the kind ``entries``: those that were measured or changed; None: too many to name."""
