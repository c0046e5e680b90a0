"""Guesses: an early word on what an entry is. It helps to compare networks before anything is decided, is marked as a
guess wherever it counts, and never becomes a decision."""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.db.tables import Account, CoarseLabel
from scorer.review import reviews
from scorer.review.reviews import LabelName


def record_early_label(
    session: Session, submission_id: str, label: LabelName, *, author: Account, now: datetime
) -> CoarseLabel:
    """Say early what an entry seems to be; the newest guess counts, and earlier ones stay."""
    submission = reviews.require_reviewable(session, submission_id, author)
    made = CoarseLabel(submission_ref=submission.ref, label=label, source="hand", author_id=author.id, created_at=now)
    session.add(made)
    session.flush()
    # Not what the label is: whoever reviews the entry later may read the log.
    audit_log.record_action(
        session, "label.guessed", f"submission:{submission.id}", actor=author, now=now, after={"source": "hand"}
    )
    return made
