"""SQL for code attachments."""

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.db.newest_rows import newest_ids
from scorer.db.tables import CodeAttachment


def newest_code(session: Session, submission_ref: int) -> CodeAttachment | None:
    """The newest code attachment of a submission, the one that counts."""
    return newest_codes(session, [submission_ref]).get(submission_ref)


def newest_codes(session: Session, refs: Collection[int]) -> dict[int, CodeAttachment]:
    """The newest code attachments of submissions, by ref; of some none."""
    query = select(CodeAttachment).where(CodeAttachment.id.in_(newest_ids(CodeAttachment.submission_ref, refs, 1)))
    return {code.submission_ref: code for code in session.scalars(query)}
