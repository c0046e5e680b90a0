"""SQL for submissions, their state, and their newest measurements."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import false, func, select, update
from sqlalchemy.orm import Session, joinedload

from scorer.db import rescoring
from scorer.db.newest_rows import newest_ids, newest_row, newest_rows, only_row
from scorer.db.session import count_changed
from scorer.db.submissions import events
from scorer.db.tables import (
    CodeAttachment,
    CodeRequest,
    Measurement,
    Submission,
    Team,
)
from scorer.db.teams import members, merges
from scorer.lifecycle import Status, advance


def submission_by_id(session: Session, submission_id: str) -> Submission | None:
    return only_row(session, Submission, id=submission_id)


def submission_with_owner(session: Session, submission_id: str, account_id: int) -> tuple[Submission, bool] | None:
    """A submission by its public id, and whether it currently belongs to the person's team."""
    query = select(Submission, func.coalesce(members.is_own(account_id), false())).where(Submission.id == submission_id)
    return session.execute(query).one_or_none()


def own_refs(session: Session, refs: Collection[int], account_id: int) -> set[int]:
    return set(session.scalars(select(Submission.ref).where(Submission.ref.in_(refs), members.is_own(account_id))))


def load_submissions(
    session: Session, competition_id: int, *, team_id: int | None, before: int | None, limit: int | None
) -> Sequence[Submission]:
    """The submissions older than the ref ``before``, newest first."""
    of_team = () if team_id is None else (merges.belongs_to_team(team_id),)
    return newest_rows(session, Submission, *of_team, before=before, limit=limit, competition_id=competition_id)


def has_submissions(session: Session, competition_id: int) -> bool:
    query = select(Submission.ref).where(Submission.competition_id == competition_id)
    return session.scalar(query.limit(1)) is not None


def has_live_submissions(session: Session, competition_id: int) -> bool:
    """Whether a competition has a submission that is scored or may still be, so neither rejected nor cancelled."""
    live = Submission.status.not_in({Status.REJECTED, Status.CANCELLED})
    query = select(Submission.ref).where(Submission.competition_id == competition_id, live)
    return session.scalar(query.limit(1)) is not None


class UnexpectedStatus(RuntimeError):
    """A submission and its job disagree. This is a bug and must not go unnoticed."""


def move_submission(
    session: Session, ref: int, *, from_: Status, to: Status, now: datetime, reason: str | None = None, **values: object
) -> None:
    """Move a submission from one state to another and record the event. ``UnexpectedStatus``, without any change, if it
    is not in ``from_``. ``Conflict`` for a forbidden step."""
    advance(from_, to)
    is_there = (Submission.ref == ref) & (Submission.status == from_)
    if count_changed(session, update(Submission).where(is_there).values(status=to, reason=reason, **values)) != 1:
        raise UnexpectedStatus(f"submission {ref} is not {from_}, so it can't become {to}")
    events.add_event(session, ref, to, now=now, reason=reason)


def newest_measurement(session: Session, submission_ref: int, track_id: int) -> Measurement | None:
    """A submission's newest measurement that counts on a track."""
    counts = rescoring.counts(Measurement.campaign_id)
    return newest_row(session, Measurement, counts, submission_ref=submission_ref, track_id=track_id)


class SubmissionDetails(NamedTuple):
    team: Team
    """Its team after merges."""
    code_request: CodeRequest | None
    code: CodeAttachment | None
    """The newest attachment, like the fields below."""


def details_by_ref(session: Session, refs: Collection[int]) -> dict[int, SubmissionDetails]:
    newest_request = CodeRequest.id.in_(newest_ids(CodeRequest.submission_ref, refs, 1))
    newest_code = CodeAttachment.id.in_(newest_ids(CodeAttachment.submission_ref, refs, 1))
    query = (
        merges.with_team(select(Submission.ref, Team, CodeRequest, CodeAttachment).select_from(Submission))
        .outerjoin(CodeRequest, (CodeRequest.submission_ref == Submission.ref) & newest_request)
        .outerjoin(CodeAttachment, (CodeAttachment.submission_ref == Submission.ref) & newest_code)
        .where(Submission.ref.in_(refs))
        .options(joinedload(CodeRequest.author, innerjoin=False), joinedload(CodeAttachment.author, innerjoin=False))
    )
    rows = session.execute(query)
    return {ref: SubmissionDetails(team, request, code) for ref, team, request, code in rows}


def submissions_by_ref(session: Session, refs: Sequence[int]) -> list[Submission]:
    """Submissions in the order of ``refs``."""
    by_ref = {row.ref: row for row in session.scalars(select(Submission).where(Submission.ref.in_(refs)))}
    return [by_ref[ref] for ref in refs]


def load_refs(session: Session, competition_id: int, ids: Collection[str]) -> dict[str, int]:
    """The refs of a competition's submissions by public id. Unknown ids are missing."""
    query = select(Submission.id, Submission.ref).where(Submission.competition_id == competition_id)
    return {row.id: row.ref for row in session.execute(query.where(Submission.id.in_(ids)))}


def lock_submission(session: Session, ref: int) -> None:
    """Let only one transaction at a time change a submission and the rows that belong to it."""
    session.execute(select(Submission.ref).where(Submission.ref == ref).with_for_update(key_share=True)).one()
