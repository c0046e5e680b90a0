"""Rulings: an organizer keeps a submission as scored, disqualifies it, or waives its penalty.

Each ruling has a reason that the team reads. A later ruling replaces it; all stay in the history.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions import penalty_notices
from scorer.competitions.competition_state import CompetitionState, load_state, lock_unless_final
from scorer.db.newest_rows import newest_row
from scorer.db.submissions import submissions
from scorer.db.tables import Ruling, Submission
from scorer.db.teams import merges
from scorer.errors import Conflict, Invalid, NotFound
from scorer.lifecycle import Status
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from scorer.teams.team_messages import find_team

RulingKind = Literal["keep", "disqualify", "waive"]
RULING_EFFECTS: Mapping[str, str] = MappingProxyType(
    {
        "keep": "keeps its score",
        "disqualify": "is disqualified",
        "waive": "is no longer penalised, because its penalty is waived",
    }
)
"""The effect of each ruling, as a predicate after the submission's name."""


def rule(
    acting: Acting, submission_id: str, kind: RulingKind, *, reason: str, memorising: bool | None = None
) -> Ruling:
    """Rule on a scored submission and notify its team. ``Invalid`` without a reason.

    ``memorising`` says how its label ``other`` counts when tau is chosen; None keeps the value of the previous ruling.
    """
    submission = submissions.submission_by_id(acting.session, submission_id)
    if submission is None:
        raise NotFound("no-submission", f"There is no submission {submission_id!r}.")
    if submission.team.benchmark:
        raise Conflict("benchmark", "Rulings are not possible on benchmark entries.")
    if submission.status != Status.SCORED:
        raise Conflict("not-scored", f"This entry is {submission.status}. Rulings are only possible on scored entries.")
    if not reason.strip():
        raise Invalid("no-reason", "Give a reason. The team will see it.")
    submissions.lock_submission(acting.session, submission.ref)
    return record_ruling(acting, submission, kind, reason=reason.strip(), memorising=memorising)


def record_ruling(
    acting: Acting,
    submission: Submission,
    kind: RulingKind,
    *,
    reason: str,
    memorising: bool | None,
    notify: bool = True,
) -> Ruling:
    """Record a ruling while holding the lock on its entry. ``notify``: also send the team a notice. ``Conflict``
    (``published``) once the final board is published, except for late entries, which are not on it."""
    if not submission.late:
        lock_unless_final(acting.session, submission.competition)
    before = newest_row(acting.session, Ruling, submission_ref=submission.ref)
    ruling = Ruling(
        submission_ref=submission.ref,
        kind=kind,
        reason=reason,
        memorising=before.memorising if before is not None and memorising is None else memorising,
    )
    acting.add(ruling)
    subject = f"submission:{submission.id}"
    previous = _described(before) if before is not None else None
    audit_log.record_action(acting, "ruling.made", subject, before=previous, after=_described(ruling))
    if notify:
        title = f"Your entry {submission.file_name} in {submission.competition.title}"
        body = f"{title} {RULING_EFFECTS[kind]}. Reason: {reason}"
        state = load_state(acting.session, submission.competition.slug, acting.now)
        body += penalty_notices.appeal_words(acting.session, state, submission, now=acting.now)
        notify_team(acting.session, submission, "a ruling", body=body, now=acting.now)
    return ruling


def _described(ruling: Ruling) -> dict[str, Any]:
    return {"kind": ruling.kind, "reason": ruling.reason, "memorising": ruling.memorising}


def notify_team(session: Session, submission: Submission, what: str, *, body: str, now: datetime) -> None:
    """Notify the team of a ruling or answer. ``what`` is the end of the subject, ``body`` is plain text."""
    subject = f"{submission.file_name} in {submission.competition.title}: {what}"
    notice = NoticeText(Kind.RULING, subject, body, f"/submissions/{submission.id}#ruling")
    notices.notify(session, notice, now, teams=[merges.current_team(session, submission.team_id).id])


def rule_on_team(
    acting: Acting, state: CompetitionState, team_id: int, *, kind: RulingKind, reason: str
) -> list[Ruling]:
    """Rule on every scored entry of a team and of teams merged into it, and notify the team once.

    Each entry gets its own ruling, which a rebuttal or a later ruling can replace. ``Conflict`` if no entry is scored.
    """
    team = find_team(acting.session, state, team_id)
    if not reason.strip():
        raise Invalid("no-reason", "Give a reason. The team will see it.")
    entries = submissions.load_submissions(
        acting.session, state.competition.id, team_id=team.id, before=None, limit=None
    )
    scored = [entry for entry in entries if entry.status == Status.SCORED]
    if not scored:
        raise Conflict("no-entries", f"The team {team.name!r} has no scored entries.")
    made = []
    for entry in sorted(scored, key=lambda entry: entry.ref):
        submissions.lock_submission(acting.session, entry.ref)
        made.append(record_ruling(acting, entry, kind, reason=reason.strip(), memorising=None, notify=False))
    title = state.competition.title
    body = f"Every scored entry of {team.name} in {title} {RULING_EFFECTS[kind]}."
    # All were disqualified at the same moment, so one appeal window applies to all.
    appeal = (
        penalty_notices.appeal_words(acting.session, state, scored[0], now=acting.now) if kind == "disqualify" else ""
    )
    body += f" Reason: {reason.strip()}{appeal}"
    subject = f"{title}: a ruling on all entries of {team.name}"
    notice = NoticeText(Kind.RULING, subject, body, f"/competitions/{state.competition.slug}/entries")
    notices.notify(acting.session, notice, acting.now, teams=[team.id])
    return made
