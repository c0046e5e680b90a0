"""Submissions by their number. Numbers count, so nobody may learn whether one is another team's or nobody's."""

from sqlalchemy.orm import Session

from scorer import submissions
from scorer.db.tables import Account, Submission
from scorer.errors import NotFound


def find(session: Session, ref: int, account: Account) -> Submission:
    """A submission that this person may see; ``NotFound`` otherwise, in the same words whatever the reason."""
    submission = session.get(Submission, ref)
    if submission is None:
        raise submissions.unknown(ref)
    try:
        return submissions.find(session, submission.id, account)
    except NotFound:
        raise submissions.unknown(ref) from None
