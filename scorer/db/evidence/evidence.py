"""SQL for evidence: the newest evidence of an entry on a track, its newest job, and the newest code attachments."""

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.db.newest_rows import newest_ids
from scorer.db.tables import CodeAttachment, Evidence, Job
from scorer.lifecycle import Queue


def newest_evidence(session: Session, submission_ref: int, track_id: int) -> Evidence | None:
    """The newest evidence of an entry on a track, the one that counts; None if there is none (yet). After a new
    measurement it still refers to the earlier one (``measurement_id``) until the new evidence is there."""
    query = select(Evidence).where(Evidence.submission_ref == submission_ref, Evidence.track_id == track_id)
    return session.scalars(query.order_by(Evidence.id.desc()).limit(1)).one_or_none()


def newest_evidence_job(session: Session, submission_ref: int, track_id: int) -> Job | None:
    """The newest evidence job of an entry on a track. None for an entry that is not measured there."""
    query = select(Job).where(
        Job.submission_ref == submission_ref, Job.track_id == track_id, Job.queue == Queue.EVIDENCE
    )
    return session.scalars(query.order_by(Job.id.desc()).limit(1)).one_or_none()


def newest_code(session: Session, submission_ref: int) -> CodeAttachment | None:
    """The newest code attachment of a submission, the one that counts."""
    return newest_codes(session, [submission_ref]).get(submission_ref)


def newest_codes(session: Session, refs: Collection[int]) -> dict[int, CodeAttachment]:
    """The newest code attachments of submissions, by ref; of some none."""
    query = select(CodeAttachment).where(CodeAttachment.id.in_(newest_ids(CodeAttachment.submission_ref, refs, 1)))
    return {code.submission_ref: code for code in session.scalars(query)}
