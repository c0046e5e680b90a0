"""What a team reads of the judging of its entry: rulings with their evidence, and its rebuttals."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from api.schemas.review.review_queue import PairView
from api.schemas.review.review_queue_views import pair_view
from api.schemas.review.rulings import CaseView, case_view
from scorer.blobs import Blobs
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account, Submission
from scorer.evidence import closest_pairs
from scorer.review import rebuttals, review_queue, reviews
from scorer.review.flags import FlagReason

NOT_YET = "review-not-begun"


@dataclass(frozen=True)
class Case:
    """``label``, ``findings`` and ``pairs`` are the evidence, of the public track alone, shown once there is a ruling.
    ``later``: why a rebuttal is not taken yet, where it will be."""

    view: CaseView
    label: str | None
    findings: Sequence[FlagReason]
    pairs: Sequence[PairView]
    may_rebut: bool
    later: str | None


def case_of(
    session: Session, store: Blobs, state: CompetitionState, submission: Submission, account: Account, now: datetime
) -> Case:
    """The judging of an entry, for its team."""
    view = case_view(session, state, submission, inside=False)
    refused = rebuttals.rebuttal_refusal(session, state, submission, account, now)
    later = refused.message if refused is not None and refused.slug == NOT_YET else None
    if not view.rulings:
        return Case(view, None, (), (), refused is None, later)
    found = review_queue.evidence_reasons(session, state, submission)
    shown = [each for each in found if not each.name.startswith("private")]
    closest = closest_pairs.pairs_of_entry(session, store, submission, account)["public"]
    label = reviews.decided_label(session, submission)
    return Case(view, label, shown, [pair_view(each) for each in closest], refused is None, later)
