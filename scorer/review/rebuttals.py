"""Rebuttals: a team's one appeal against a ruling or penalty of a submission, and the organizers' answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.competitions.competition_state import CompetitionState, state_of
from scorer.db import accounts
from scorer.db.leaderboard import board
from scorer.db.review import rulings as rows
from scorer.db.review.rulings import Appeal
from scorer.db.submissions import submissions
from scorer.db.tables import Account, Rebuttal, RebuttalAnswer, Ruling, Submission
from scorer.db.teams import merges
from scorer.errors import Conflict, Forbidden, Invalid, KennelError, NotFound
from scorer.lifecycle import TRACK_KINDS, Phase
from scorer.notifications import notices
from scorer.review import rulings
from scorer.review.rulings import RulingKind
from scorer.submissions import access
from scorer.submissions.access import find_submission, is_own

__all__ = ["Appeal", "Window", "answer", "rebut", "rebuttal_history", "rebuttal_refusal", "unanswered", "window_of"]

MAX_TEXT_LENGTH = 10_000


@dataclass(frozen=True)
class Window:
    """When rebuttals are taken: from the close to the end of the review. None: not known yet."""

    begins: datetime | None
    ends: datetime | None


def window_of(state: CompetitionState) -> Window:
    """The review window of a competition."""
    closes_at = state.competition.closes_at
    if closes_at is None:
        return Window(None, None)
    return Window(closes_at, closes_at + timedelta(days=state.competition.review_days))


def rebuttal_refusal(
    session: Session, state: CompetitionState, submission: Submission, account: Account, now: datetime
) -> KennelError | None:
    """The error if the account tried to write a rebuttal for a submission now; None if it may."""
    if not is_own(session, submission, account):
        return Forbidden("not-yours", "A rebuttal is written by the team of the entry.")
    ruling = rows.newest_ruling(session, submission.ref)
    if not _is_appealable(session, state, submission, ruling):
        return Conflict("nothing-to-rebut", "This entry is neither penalised nor disqualified.")
    ruling_id = ruling.id if ruling is not None else None
    if any(appeal.rebuttal.ruling_id == ruling_id for appeal in rows.appeals_of(session, submission.ref)):
        return Conflict("rebutted", "Your team has written its one rebuttal against this already.")
    window = window_of(state)
    if state.phase in {Phase.DRAFT, Phase.OPEN} or window.ends is None:
        return Conflict("review-not-begun", "Rebuttals are taken once the competition has closed.")
    if state.phase is not Phase.REVIEW or now >= window.ends:
        return Conflict("review-over", "The review is over: rebuttals are taken no more.")
    return None


def _is_appealable(session: Session, state: CompetitionState, submission: Submission, ruling: Ruling | None) -> bool:
    """Whether a submission has something to appeal against: a disqualification, or a penalty that its team can see."""
    if ruling is not None and ruling.kind != "keep":
        return ruling.kind == "disqualify"
    visible = TRACK_KINDS if state.published else TRACK_KINDS[:1]
    judged = [board.score_of(session, state.tracks[kind].id, submission.ref) for kind in visible]
    return any(row is not None and (row.penalised or row.copy) for row in judged)


def rebut(session: Session, submission_id: str, text: str, *, author: Account, now: datetime) -> Rebuttal:
    """Record a team's appeal against a submission's newest ruling, or its penalty without one; once each. ``Conflict``
    outside the review window, and where there is nothing to appeal against."""
    submission = find_submission(session, submission_id, author)
    submissions.lock_submission(session, submission.ref)
    state = state_of(session, submission.competition.slug, now)
    refusal = rebuttal_refusal(session, state, submission, author, now)
    if refusal is not None:
        raise refusal
    if not text.strip():
        raise Invalid("no-text", "A rebuttal needs words.")
    ruling = rows.newest_ruling(session, submission.ref)
    rebuttal = Rebuttal(
        submission_ref=submission.ref,
        ruling_id=ruling.id if ruling is not None else None,
        team_id=merges.current_team(session, submission.team_id).id,
        author_id=author.id,
        text=text.strip(),
        created_at=now,
    )
    session.add(rebuttal)
    session.flush()
    for organizer in _notified_organizers(session, submission, ruling):
        subject = f"A rebuttal in {submission.competition.title}"
        body = f"The team of entry {submission.ref} in {submission.competition.title} asks you to look again."
        notices.notify(session, organizer, notices.Kind.DESK, subject, body, f"/submissions/{submission.id}/desk", now)
    return rebuttal


def _notified_organizers(session: Session, submission: Submission, ruling: Ruling | None) -> list[Account]:
    """The accounts notified of a rebuttal: the creator of the competition, and the author of the ruling."""
    creator = accounts.account_by_id(session, submission.competition.created_by)
    return [creator] if ruling is None or ruling.author_id == creator.id else [creator, ruling.author]


def answer(
    session: Session,
    rebuttal_id: int,
    *,
    ruling: RulingKind | None,
    text: str,
    author: Account,
    now: datetime,
) -> RebuttalAnswer:
    """Answer a rebuttal, once: grant it with a new ``ruling`` (``keep`` or ``waive``), or refuse it (None). The team
    gets a notice either way."""
    rebuttal = rows.rebuttal(session, rebuttal_id)
    if rebuttal is None:
        raise NotFound("no-rebuttal", "There is no such rebuttal.")
    submission = submissions.submissions_by_ref(session, [rebuttal.submission_ref])[0]
    access.require_impartial(session, submission, author)
    if ruling == "disqualify":
        raise Invalid("not-granted", "A rebuttal that is granted is followed by keep or waive.")
    if not text.strip():
        raise Invalid("no-reason", "An answer needs its reason: it is told to the team.")
    submissions.lock_submission(session, submission.ref)
    if rows.is_answered(session, rebuttal.id):
        raise Conflict("answered", "This rebuttal is answered already.")
    reason = text.strip()
    new_ruling = _rule_anew(session, submission, ruling, reason, author, now) if ruling is not None else None
    rebuttal_answer = RebuttalAnswer(
        rebuttal_id=rebuttal.id,
        granted=ruling is not None,
        answer=reason,
        ruling_id=new_ruling.id if new_ruling is not None else None,
        author_id=author.id,
        created_at=now,
    )
    session.add(rebuttal_answer)
    session.flush()
    after = {"rebuttal": rebuttal.id, "granted": rebuttal_answer.granted, "ruling": ruling, "answer": reason}
    audit_log.record_action(
        session, "rebuttal.answered", f"submission:{submission.id}", actor=author, now=now, after=after
    )
    _notify_team(session, submission, rebuttal_answer, ruling, now)
    return rebuttal_answer


def _rule_anew(
    session: Session, submission: Submission, kind: RulingKind, reason: str, author: Account, now: datetime
) -> Ruling:
    return rulings.record_ruling(
        session, submission, kind, reason=reason, memorising=None, author=author, now=now, notify=False
    )


def _notify_team(
    session: Session, submission: Submission, rebuttal_answer: RebuttalAnswer, ruling: RulingKind | None, now: datetime
) -> None:
    what = "is granted" if rebuttal_answer.granted else "is not granted"
    then = f" The entry {rulings.RULING_EFFECTS[ruling]}." if ruling is not None else ""
    title = f"Your rebuttal for {submission.file_name} in {submission.competition.title}"
    body = f"{title} {what}.{then} The answer: {rebuttal_answer.answer}"
    rulings.notify_team(session, submission, f"your rebuttal {what}", body, now)


def rebuttal_history(session: Session, submission: Submission) -> list[Appeal]:
    """Every rebuttal of a submission with its answer, newest first."""
    return rows.appeals_of(session, submission.ref)


def unanswered(session: Session, state: CompetitionState) -> Sequence[tuple[Rebuttal, Submission]]:
    """The unanswered rebuttals of a competition with their submissions, oldest first."""
    return rows.open_rebuttals(session, state.competition.id)
