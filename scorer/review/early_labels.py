"""Early labels: given before any review. They help to compare extractors before anything is decided, are marked as
early wherever they count, and never become decisions."""

from scorer import audit_log
from scorer.acting import Acting
from scorer.db.tables import EarlyLabel
from scorer.review import reviews
from scorer.review.reviews import LabelName


def record_early_label(acting: Acting, submission_id: str, label: LabelName) -> EarlyLabel:
    """Record an early label of a submission; the newest counts, and earlier ones stay."""
    submission = reviews.require_reviewable(acting.session, submission_id, acting.actor)
    early_label = EarlyLabel(
        submission_ref=submission.ref, label=label, source="hand", author_id=acting.actor.id, created_at=acting.now
    )
    acting.session.add(early_label)
    acting.session.flush()
    # Without the label itself: a later reviewer of the submission may read the log.
    audit_log.record_action(acting, "early-label.given", f"submission:{submission.id}", after={"source": "hand"})
    return early_label
