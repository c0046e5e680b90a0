"""Decided labels: what organizers found out about an entry by looking."""

from datetime import datetime
from typing import Literal

from sqlalchemy.orm import Session

from scorer import audit
from scorer.competitions import State
from scorer.db import lookups
from scorer.db.tables import Account, Label
from scorer.errors import Conflict, NotFound

LabelName = Literal["legitimate", "mgan", "sup", "ae", "aug", "other"]


def decide(
    session: Session,
    state: State,
    submission_id: str,
    label: LabelName,
    *,
    note: str,
    author: Account,
    now: datetime,
) -> Label:
    """Record an organizer's decided label; a later one replaces it, and both stay in the history."""
    submission = lookups.submission_by_id(session, submission_id)
    if submission is None or submission.competition_id != state.competition.id:
        raise NotFound("no-submission", f"There is no submission {submission_id!r} in {state.competition.slug}.")
    if submission.team.benchmark:
        raise Conflict("benchmark", "A benchmark entry is never labelled.")
    before = lookups.decided_label(session, submission.ref)
    decided = Label(submission_ref=submission.ref, label=label, note=note, author_id=author.id, created_at=now)
    session.add(decided)
    session.flush()
    audit.record(
        session,
        "label.decided",
        f"submission:{submission_id}",
        actor=author,
        now=now,
        before={"label": before.label, "note": before.note} if before else None,
        after={"label": label, "note": note},
    )
    return decided
