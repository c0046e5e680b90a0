"""SQL for data releases and the entries with images in a release."""

from collections.abc import Sequence

from sqlalchemy import and_, literal, or_, select
from sqlalchemy.orm import Session

from scorer.db.tables import Release, Submission
from scorer.lifecycle import Status


def load_releases(session: Session, competition_id: int) -> Sequence[Release]:
    query = select(Release).where(Release.competition_id == competition_id)
    return session.scalars(query.order_by(Release.created_at.desc(), Release.id)).all()


def entries_with_images(session: Session, competition_id: int, refs: Sequence[int] | None) -> Sequence[Submission]:
    """Scored entries (only those in ``refs``, if given), oldest first. Their zips may still be in the blob store."""
    scored = and_(Submission.competition_id == competition_id, Submission.status == Status.SCORED)
    query = select(Submission).where(scored, or_(literal(refs is None), Submission.ref.in_(refs or [])))
    return session.scalars(query.order_by(Submission.ref)).all()
