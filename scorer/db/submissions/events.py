"""SQL for the progress of submissions: their events and their public jobs."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, BigInteger, ColumnElement, column, func, literal, select
from sqlalchemy.orm import Session

from scorer.db.tables import Job, SubmissionEvent
from scorer.lifecycle import UNFINISHED


def add_event(session: Session, ref: int, status: str, *, now: datetime, reason: str | None = None) -> None:
    session.add(SubmissionEvent(submission_ref=ref, status=status, reason=reason, created_at=now))


def events_after(session: Session, cursors: Mapping[int, int]) -> Sequence[SubmissionEvent]:
    """The events of submissions after the newest known ones, in order. ``cursors`` has the known event ids by ref."""
    wanted = (
        func.unnest(_array(cursors.keys()), _array(cursors.values()))
        .table_valued(column("ref", BigInteger), column("after", BigInteger), name="wanted")
        .render_derived()
    )
    is_later = (SubmissionEvent.submission_ref == wanted.c.ref) & (SubmissionEvent.id > wanted.c.after)
    return session.scalars(select(SubmissionEvent).join(wanted, is_later).order_by(SubmissionEvent.id)).all()


def _array(numbers: Collection[int]) -> ColumnElement[Any]:
    return literal(list(numbers), ARRAY(BigInteger))


def public_jobs(session: Session, refs: Collection[int]) -> Sequence[Job]:
    """The unfinished jobs of submissions that participants may see, without those of the private track."""
    of_these = Job.submission_ref.in_(refs)
    return session.scalars(select(Job).where(of_these, Job.priority == 0, Job.state.in_(UNFINISHED))).all()
