"""SQL for rulings, rebuttals and their answers. The newest ruling on an entry counts."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from scorer.db.submissions.labels import newest_rows
from scorer.db.tables import Rebuttal, RebuttalAnswer, Ruling, Submission


class Appeal(NamedTuple):
    rebuttal: Rebuttal
    answer: RebuttalAnswer | None


def is_ruled(submission_ref: Any) -> ColumnElement[bool]:
    return select(Ruling.id).where(Ruling.submission_ref == submission_ref).exists()


def is_ruled_knowing(submission_ref: Any, labelled_at: Any) -> ColumnElement[bool]:
    """The condition that an entry's current ruling was made after its label, or disqualifies it. An earlier ruling that
    spared the entry did not take the label into account."""
    settles = (Ruling.kind == "disqualify") | (Ruling.created_at >= labelled_at)
    newest = select(settles).where(Ruling.submission_ref == submission_ref).order_by(Ruling.id.desc()).limit(1)
    return func.coalesce(newest.scalar_subquery(), False)


def newest_disqualification(session: Session, competition_id: int) -> datetime | None:
    """When the newest disqualification of an entry in time was made, even if a later ruling has replaced it."""
    query = (
        select(func.max(Ruling.created_at))
        .join(Submission, Submission.ref == Ruling.submission_ref)
        .where(Submission.competition_id == competition_id, ~Submission.late, Ruling.kind == "disqualify")
    )
    return session.scalar(query)


def newest_keeps(session: Session, competition_id: int) -> dict[int, datetime]:
    """The entries in time that the newest ruling keeps as judged, with the time of that ruling, by ref."""
    newest = newest_rows(competition_id, Ruling, Ruling.kind, Ruling.created_at).where(~Submission.late).subquery()
    keeps = select(newest.c.submission_ref, newest.c.created_at).where(newest.c.kind == "keep")
    return {row.submission_ref: row.created_at for row in session.execute(keeps)}


def load_appeals(session: Session, submission_ref: int) -> list[Appeal]:
    query = (
        select(Rebuttal, RebuttalAnswer)
        .outerjoin(RebuttalAnswer, RebuttalAnswer.rebuttal_id == Rebuttal.id)
        .where(Rebuttal.submission_ref == submission_ref)
        .order_by(Rebuttal.id.desc())
    )
    return [Appeal(rebuttal, answer) for rebuttal, answer in session.execute(query)]


def open_rebuttals(
    session: Session, competition_id: int, *, after: int = 0, limit: int | None = None
) -> list[tuple[Rebuttal, Submission]]:
    """The unanswered rebuttals with their entries, oldest first, only those newer than the id ``after``."""
    query = (
        select(Rebuttal, Submission)
        .join(Submission, Submission.ref == Rebuttal.submission_ref)
        .outerjoin(RebuttalAnswer, RebuttalAnswer.rebuttal_id == Rebuttal.id)
        .where(Submission.competition_id == competition_id, RebuttalAnswer.id.is_(None), Rebuttal.id > after)
        .order_by(Rebuttal.id)
        .limit(limit)
    )
    return [(unanswered, submission) for unanswered, submission in session.execute(query)]
