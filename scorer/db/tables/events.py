"""What happened to a submission: every status that it has had, in order."""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.entries import Submission


class SubmissionEvent(Table):
    """A submission reached a status. Written by the transaction that moved it, which holds the submission's row: so
    the ids of one submission grow in the order in which its steps were committed."""

    __tablename__ = "submission_events"
    __table_args__ = (Index("ix_submission_events_submission", "submission_ref", "id"), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    status: Mapped[str]
    reason: Mapped[str | None]
    created_at: Mapped[datetime]
