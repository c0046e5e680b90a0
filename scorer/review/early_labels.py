"""Early labels: given before any review. They help to compare extractors before anything is decided, are marked as
early wherever they count, and never become decisions."""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.db.tables import Account, EarlyLabel
from scorer.review import reviews
from scorer.review.reviews import LabelName


def record_early_label(
    session: Session, submission_id: str, label: LabelName, *, author: Account, now: datetime
) -> EarlyLabel:
    """Record an early label of a submission; the newest counts, and earlier ones stay."""
    submission = reviews.require_reviewable(session, submission_id, author)
    early_label = EarlyLabel(
        submission_ref=submission.ref, label=label, source="hand", author_id=author.id, created_at=now
    )
    session.add(early_label)
    session.flush()
    # Without the label itself: a later reviewer of the submission may read the log.
    audit_log.record_action(
        session, "early-label.given", f"submission:{submission.id}", actor=author, now=now, after={"source": "hand"}
    )
    return early_label
