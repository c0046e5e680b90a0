"""Reviews: labels by two reviewers who cannot see each other's.

If the reviewers agree, that decides the label. If they disagree, an organizer who is neither of them decides. Any
organizer may decide at any other time.

Early labels are given before any review. They help to compare extractors early, are marked as early wherever they
count, and never become decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isnan
from operator import eq
from typing import Literal

from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions import competition_roles
from scorer.competitions.competition_state import CompetitionState, lock_unless_final
from scorer.db.newest_rows import newest_row
from scorer.db.review import reviews as rows
from scorer.db.submissions import submissions
from scorer.db.tables import Account, EarlyLabel, Label, Review, Submission
from scorer.errors import Conflict, Forbidden, Invalid, NotFound
from scorer.lifecycle import Status
from scorer.metrics.statistics.rater_agreement import cohens_kappa
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.submissions import access

LabelName = Literal["legitimate", "mgan", "sup", "ae", "aug", "other"]
Intent = Literal["intended", "unintended", "unclear"]
REVIEWS_NEEDED = 2


@dataclass(frozen=True)
class Opinions:
    """The reviews of a submission as one account may see them."""

    own: Review | None
    others: Sequence[Review]
    """Empty while more reviews are accepted, because reviewers must not see each other's."""
    count: int
    decided: Label | None

    @property
    def complete(self) -> bool:
        """Whether no more reviews are accepted."""
        return self.decided is not None or self.count >= REVIEWS_NEEDED

    @property
    def disputed(self) -> bool:
        """Whether reviewers disagree and nobody has decided yet."""
        return self.decided is None and self.count >= REVIEWS_NEEDED


@dataclass(frozen=True)
class Agreement:
    """How often the two reviewers of a submission agree."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    entries: int
    agreed: int
    kappa: float | None
    """Cohen's kappa; null if it is undefined."""


def opinions(session: Session, submission: Submission, account: Account) -> Opinions:
    reviews = rows.newest_reviews(session, submission.ref)
    decided = newest_row(session, Label, submission_ref=submission.ref)
    complete = Opinions(None, (), len(reviews), decided).complete
    return Opinions(
        own=next((review for review in reviews if review.reviewer_id == account.id), None),
        others=[review for review in reviews if review.reviewer_id != account.id] if complete else (),
        count=len(reviews),
        decided=decided,
    )


def review(acting: Acting, submission_id: str, label: LabelName, *, intent: Intent | None, note: str) -> Opinions:
    """Record a review, or replace this reviewer's earlier one.

    The second reviewer's review completes the submission: if both agree, that decides its label, else organizers are
    notified. ``Conflict`` if no more reviews are accepted, and (``published``) once the final board is published.
    """
    submission = require_reviewable(acting.session, submission_id, acting.actor)
    _lock_undecided(acting.session, submission)
    before = opinions(acting.session, submission, acting.actor)
    if before.complete:
        raise Conflict("reviewed", "This entry has already been reviewed. It accepts no more reviews.")
    if label == "legitimate" and intent is not None:
        raise Invalid("no-intent", "A legitimate entry has no intent to copy. Leave the intent empty.")
    acting.session.add(
        Review(
            submission_ref=submission.ref,
            reviewer_id=acting.actor.id,
            label=label,
            intent=intent,
            note=note,
            created_at=acting.now,
        )
    )
    acting.session.flush()
    # Leave out the label, because another reviewer may read the log.
    subject = f"submission:{submission_id}"
    audit_log.record_action(acting, "review.given", subject, after={"again": before.own is not None})
    _close(acting.session, submission, acting.actor, now=acting.now)
    return opinions(acting.session, submission, acting.actor)


def require_reviewable(session: Session, submission_id: str, reviewer: Account) -> Submission:
    submission = access.find_for_review(session, submission_id, reviewer)
    _refuse_benchmark(submission)
    if submission.status != Status.SCORED:
        raise Conflict("not-scored", f"This entry is {submission.status}. Only scored entries can be reviewed.")
    return submission


def _lock_undecided(session: Session, submission: Submission) -> None:
    """Lock a submission whose label may change. That is any late one, and all others until the final board is
    published."""
    submissions.lock_submission(session, submission.ref)
    if not submission.late:
        lock_unless_final(session, submission.competition)


def _refuse_benchmark(submission: Submission) -> None:
    if submission.team.benchmark:
        raise Conflict("benchmark", "Benchmark entries cannot be labelled.")


def _close(session: Session, submission: Submission, last: Account, *, now: datetime) -> None:
    reviews = rows.newest_reviews(session, submission.ref)
    if len(reviews) < REVIEWS_NEEDED:
        return
    if len({review.label for review in reviews}) == 1:
        handles = " and ".join(review.reviewer.handle for review in reviews)
        _decide(Acting(session, last, now), submission, reviews[0].label, note=f"Two reviewers agree: {handles}.")
        return
    title = submission.competition.title
    body = f"The reviewers of entry {submission.ref} in {title} disagree about its label. Please decide it."
    notice = NoticeText(Kind.REVIEW, f"Reviewers disagree in {title}", body, f"/submissions/{submission.id}/review")
    notices.notify(session, notice, now, accounts=[decider.id for decider in _deciders(session, submission)])


def _deciders(session: Session, submission: Submission) -> Sequence[Account]:
    """The organizers who may decide a disagreement: those who are not among the reviewers, or all if there are none."""
    reviewers = {review.reviewer_id for review in rows.newest_reviews(session, submission.ref)}
    organizers = competition_roles.load_organizers(session, submission.competition)
    return [organizer for organizer in organizers if organizer.id not in reviewers] or organizers


def may_decide(session: Session, submission: Submission, known: Opinions, *, account: Account) -> bool:
    """Whether an organizer may decide the label. Any organizer may, except in a disagreement (:func:`_deciders`)."""
    return not known.disputed or account.id in {decider.id for decider in _deciders(session, submission)}


def decide(acting: Acting, state: CompetitionState, submission_id: str, *, label: LabelName, note: str) -> Label:
    """Record an organizer's decided label. A later label replaces it; both stay in the history.

    If the same person decides the same label again without another ``note``, the existing row is returned: a new row
    would need a new ruling. ``Forbidden`` for one of two reviewers who disagree, if another organizer can decide.
    """
    submission = submissions.submission_by_id(acting.session, submission_id)
    if submission is None or submission.competition_id != state.competition.id:
        raise NotFound("no-submission", f"There is no submission {submission_id!r} in {state.competition.slug}.")
    _refuse_benchmark(submission)
    _lock_undecided(acting.session, submission)
    if not may_decide(
        acting.session, submission, opinions(acting.session, submission, acting.actor), account=acting.actor
    ):
        raise Forbidden(
            "disputed", "Two reviewers disagree about this entry. Only an organizer who is neither of them can decide."
        )
    before = newest_row(acting.session, Label, submission_ref=submission.ref)
    same = before is not None and (before.label, before.author_id) == (label, acting.actor.id)
    if before is not None and same and note in {"", before.note}:
        return before
    return _decide(acting, submission, label, note=note)


def _decide(acting: Acting, submission: Submission, label: str, *, note: str) -> Label:
    before = newest_row(acting.session, Label, submission_ref=submission.ref)
    decided = Label(submission_ref=submission.ref, label=label, note=note)
    acting.add(decided)
    audit_log.record_action(
        acting,
        "label.decided",
        f"submission:{submission.id}",
        before={"label": before.label, "note": before.note} if before else None,
        after={"label": label, "note": note},
    )
    return decided


def agreement(session: Session, state: CompetitionState) -> Agreement:
    """How far two reviewers agree, over all submissions with two reviews."""
    pairs = rows.label_pairs(session, state.competition.id)
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    kappa = cohens_kappa(first, second)
    return Agreement(len(pairs), sum(map(eq, first, second)), None if isnan(kappa) else kappa)


def record_early_label(acting: Acting, submission_id: str, label: LabelName) -> EarlyLabel:
    """Record an early label of a submission. The newest counts; earlier ones stay."""
    submission = require_reviewable(acting.session, submission_id, acting.actor)
    early_label = EarlyLabel(submission_ref=submission.ref, label=label, source="hand")
    acting.add(early_label)
    # Leave out the label, because a later reviewer of the submission may read the log.
    audit_log.record_action(acting, "early-label.given", f"submission:{submission.id}", after={"source": "hand"})
    return early_label
