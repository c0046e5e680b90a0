"""Generators of entries and what came of them, in SQL."""

from datetime import datetime

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from scorer.db.jobs import UNFINISHED
from scorer.db.tables import GeneratorFile, Job, Recovery


def newest_generator(session: Session, submission_ref: int) -> GeneratorFile | None:
    """The generator that counts for an entry."""
    query = select(GeneratorFile).where(GeneratorFile.submission_ref == submission_ref)
    return session.scalars(query.order_by(GeneratorFile.id.desc()).limit(1)).one_or_none()


def count_since(session: Session, submission_ref: int, since: datetime) -> int:
    """How many generators were handed in for an entry from a moment on."""
    query = select(func.count()).where(
        GeneratorFile.submission_ref == submission_ref, GeneratorFile.created_at >= since
    )
    return int(session.scalar(query) or 0)


def newest_recovery(session: Session, generator_id: int) -> Recovery | None:
    """What came of a generator, as far as it is known."""
    query = select(Recovery).where(Recovery.generator_id == generator_id)
    return session.scalars(query.order_by(Recovery.job_id.desc()).limit(1)).one_or_none()


def newest_job(session: Session, generator_id: int) -> Job | None:
    """The work on a generator."""
    query = select(Job).where(Job.generator_id == generator_id)
    return session.scalars(query.order_by(Job.id.desc()).limit(1)).one_or_none()


def cancel_work(session: Session, submission_ref: int, now: datetime) -> None:
    """End the work on former generators of an entry; a worker that is at it finds out and drops its result."""
    session.execute(
        update(Job)
        .where(Job.queue == "recover", Job.submission_ref == submission_ref, Job.state.in_(UNFINISHED))
        .values(state="cancelled", holder=None, lease_until=None, stage=None, fraction=None, finished_at=now)
    )
