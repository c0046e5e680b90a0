"""Rebuttals: a team's single appeal against a ruling or penalty, and the organizers' answer."""

from datetime import datetime

from scorer import audit_log
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.competitions import appeal_windows, competition_roles
from scorer.competitions.appeal_windows import AppealableDecision
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db.newest_rows import only_row
from scorer.db.review import rulings as rows
from scorer.db.submissions import submissions
from scorer.db.tables import Rebuttal, RebuttalAnswer, Submission
from scorer.db.teams import merges
from scorer.errors import Conflict, Forbidden, Invalid, KennelError, NotFound
from scorer.lifecycle import Phase
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.review import rulings
from scorer.review.rulings import RulingKind
from scorer.submissions.access import find_submission, is_own

MAX_TEXT_LENGTH = 10_000


def rebuttal_refusal(acting: Acting, state: CompetitionState, submission: Submission) -> KennelError | None:
    """The error that writing a rebuttal for a submission would raise now; None if this account may write it."""
    if not is_own(acting.session, submission, acting.actor):
        return Forbidden("not-yours", "Only the entry's team can write a rebuttal.")
    decision = appeal_windows.find_appealable_decision(acting.session, state, submission)
    if decision is None:
        return Conflict("nothing-to-rebut", "This entry is neither penalised nor disqualified.")
    appeals = rows.load_appeals(acting.session, submission.ref)
    if any(decision[:2] == (appeal.rebuttal.ruling_id, appeal.rebuttal.track) for appeal in appeals):
        return Conflict("rebutted", "Your team has already appealed against this decision.")
    return _find_time_refusal(state, decision, acting.now)


def _find_time_refusal(state: CompetitionState, decision: AppealableDecision, now: datetime) -> KennelError | None:
    """The error if a rebuttal on these grounds is not possible at this time; None if it is."""
    window = appeal_windows.compute_decision_window(state, decision)
    if state.phase in {Phase.DRAFT, Phase.OPEN} or window.ends is None:
        return Conflict("review-not-begun", "You can write a rebuttal after the deadline.")
    if appeal_windows.opens_again(state, decision, now):
        message = "You can appeal against a disqualification again once the provisional board is published."
        return Conflict("appeals-not-begun", message)
    if not appeal_windows.is_open(state, decision, now):
        return Conflict("review-over", "The time for rebuttals has ended.")
    return None


def rebut(acting: Acting, submission_id: str, text: str) -> Rebuttal:
    """Record a team's one appeal against a submission's disqualification or penalty. Public penalties can be appealed
    during the review, private ones once the provisional board is published. ``Conflict`` at other times, and if there
    is nothing to appeal against."""
    submission = find_submission(acting.session, submission_id, acting.actor)
    submissions.lock_submission(acting.session, submission.ref)
    state = load_state(acting.session, submission.competition.slug, acting.now)
    refusal = rebuttal_refusal(acting, state, submission)
    if refusal is not None:
        raise refusal
    if not text.strip():
        raise Invalid("no-text", "Write your rebuttal.")
    decision = appeal_windows.find_appealable_decision(acting.session, state, submission)
    rebuttal = Rebuttal(
        submission_ref=submission.ref,
        ruling_id=decision and decision.ruling_id,
        track=decision and decision.track,
        team_id=merges.current_team(acting.session, submission.team_id).id,
        text=text.strip(),
    )
    acting.add(rebuttal)
    subject = f"New rebuttal in {submission.competition.title}"
    body = f"Entry {submission.ref} in {submission.competition.title} has a new rebuttal. Organizers can answer it."
    notice = NoticeText(Kind.REVIEW, subject, body, f"/submissions/{submission.id}/review")
    judges = competition_roles.judges_to_notify(acting.session, submission.competition)
    notices.notify(acting.session, notice, acting.now, accounts=[judge.id for judge in judges])
    return rebuttal


def answer(acting: Acting, rebuttal_id: int, *, ruling: RulingKind | None, text: str) -> RebuttalAnswer:
    """Answer a rebuttal, once: grant it with a new ``ruling`` (``keep`` or ``waive``), or refuse it (None). Notifies
    the team."""
    rebuttal = acting.session.get(Rebuttal, rebuttal_id)
    if rebuttal is None:
        raise NotFound("no-rebuttal", f"There is no rebuttal {rebuttal_id}.")
    submission = submissions.submissions_by_ref(acting.session, [rebuttal.submission_ref])[0]
    if not is_organizer(acting.actor, submission.competition_id):
        raise NotFound("no-rebuttal", f"There is no rebuttal {rebuttal_id}.")
    if ruling == "disqualify":
        raise Invalid("not-granted", "Choose keep or waive to grant the rebuttal, or refuse it.")
    if not text.strip():
        raise Invalid("no-reason", "Give a reason for the answer. The team will see it.")
    submissions.lock_submission(acting.session, submission.ref)
    if only_row(acting.session, RebuttalAnswer, rebuttal_id=rebuttal.id) is not None:
        raise Conflict("answered", "This rebuttal has already been answered.")
    reason = text.strip()
    new_ruling = (
        rulings.record_ruling(acting, submission, ruling, reason=reason, memorising=None, notify=False)
        if ruling is not None
        else None
    )
    rebuttal_answer = RebuttalAnswer(
        rebuttal_id=rebuttal.id,
        granted=ruling is not None,
        answer=reason,
        ruling_id=new_ruling.id if new_ruling is not None else None,
    )
    acting.add(rebuttal_answer)
    after = {"rebuttal": rebuttal.id, "granted": rebuttal_answer.granted, "ruling": ruling, "answer": reason}
    audit_log.record_action(acting, "rebuttal.answered", f"submission:{submission.id}", after=after)
    what = "has been granted" if rebuttal_answer.granted else "has not been granted"
    then = f" The entry {rulings.RULING_EFFECTS[ruling]}." if ruling is not None else ""
    title = f"Your rebuttal for {submission.file_name} in {submission.competition.title}"
    body = f"{title} {what}.{then} Answer: {reason}"
    rulings.notify_team(acting.session, submission, f"your rebuttal {what}", body=body, now=acting.now)
    return rebuttal_answer
