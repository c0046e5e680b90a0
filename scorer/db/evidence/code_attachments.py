"""SQL for code attachments."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.db.tables import CodeAttachment


def newest_code(session: Session, submission_ref: int) -> CodeAttachment | None:
    """The newest code attachment of a submission, the one that counts."""
    query = select(CodeAttachment).where(CodeAttachment.submission_ref == submission_ref)
    return session.scalars(query.order_by(CodeAttachment.id.desc()).limit(1)).one_or_none()
