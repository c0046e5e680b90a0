"""A team's picks and the code attached to its entries, in SQL."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.db.judging import judged
from scorer.db.tables import CodeAttachment, PickSet, Submission


def newest_picks(session: Session, team_id: int, at: datetime | None = None) -> PickSet | None:
    """The set of picks that counts: the newest, or the newest that there was at a moment."""
    query = select(PickSet).where(PickSet.team_id == team_id)
    if at is not None:
        query = query.where(PickSet.created_at <= at)
    return session.scalars(query.order_by(PickSet.id.desc()).limit(1)).one_or_none()


def pickable(session: Session, track_id: int, team_id: int, submission_ids: Collection[str]) -> dict[str, int]:
    """The refs, by id, of those of the entries that this team can pick: its own, scored on the track, not late."""
    scores = judged(track_id=track_id).subquery("scores")
    query = (
        select(scores.c.id, scores.c.ref)
        .join(Submission, Submission.ref == scores.c.ref)
        .where(scores.c.team_id == team_id, ~Submission.late, scores.c.id.in_(submission_ids))
    )
    return {row.id: row.ref for row in session.execute(query)}


def submissions_by_ref(session: Session, refs: Sequence[int]) -> list[Submission]:
    """Submissions in the order of ``refs``."""
    found = {row.ref: row for row in session.scalars(select(Submission).where(Submission.ref.in_(refs)))}
    return [found[ref] for ref in refs]


def lock_submission(session: Session, ref: int) -> None:
    """Let one transaction at a time decide about what belongs to a submission."""
    session.execute(select(Submission.ref).where(Submission.ref == ref).with_for_update()).one()


def newest_code(session: Session, submission_ref: int) -> CodeAttachment | None:
    """The code that is attached to a submission."""
    query = select(CodeAttachment).where(CodeAttachment.submission_ref == submission_ref)
    return session.scalars(query.order_by(CodeAttachment.id.desc()).limit(1)).one_or_none()
