"""What has happened to boards: a row for each change, so that who keeps a board knows that it is old."""

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition, Track


class BoardChange(Table):
    """Something that a board depends on was added or changed. Written by triggers, in the change's own transaction.

    No order of ids tells a reader what is new, because a row may be committed after one with a higher id; its
    transaction's number does (:mod:`scorer.db.leaderboard.changes`). Nobody waits for anybody: there is no counter to
    lock.
    """

    __tablename__ = "board_changes"
    __table_args__ = (
        Index("ix_board_changes_news", "competition_id", "xid"),
        CheckConstraint(
            "kind IN ('entries', 'threshold', 'ruling', 'label', 'picks', 'merge', 'team', 'publication',"
            " 'competition', 'track')",
            name="kind",
        ),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    xid: Mapped[int] = mapped_column(BigInteger, server_default=text("(pg_current_xact_id()::text)::bigint"))
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    track_id: Mapped[int | None] = mapped_column(ForeignKey(Track.id))
    """The one track whose board it changes; None: both."""
    kind: Mapped[str]
    submission_refs: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    """``entries``: those that were measured or changed; None: too many to name."""
