"""SQL for submissions, their state, and their newest measurements."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import false, func, select, update
from sqlalchemy.orm import Session, joinedload

from scorer.db import rescoring
from scorer.db.newest_rows import newest_ids, newest_rows
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
    return session.scalars(select(Submission).where(Submission.id == submission_id)).one_or_none()


def submission_with_owner(session: Session, submission_id: str, account_id: int) -> tuple[Submission, bool] | None:
    """A submission by its public id, and whether it currently belongs to the person's team."""
    query = select(Submission, func.coalesce(members.is_own(account_id), false())).where(Submission.id == submission_id)
    return session.execute(query).one_or_none()


def own_refs(session: Session, refs: Collection[int], account_id: int) -> set[int]:
    """The submissions that currently belong to the person's team."""
    return set(session.scalars(select(Submission.ref).where(Submission.ref.in_(refs), members.is_own(account_id))))


def load_submissions(
    session: Session, competition_id: int, *, team_id: int | None, before: int | None, limit: int | None
) -> Sequence[Submission]:
    """Submissions of a competition (of one team, if given) older than the ref ``before``, newest first. All of them
    without a ``limit``."""
    of_team = () if team_id is None else (merges.belongs_to_team(team_id),)
    return newest_rows(session, Submission, *of_team, before=before, limit=limit, competition_id=competition_id)


def has_submissions(session: Session, competition_id: int) -> bool:
    return (
        session.scalar(select(Submission.ref).where(Submission.competition_id == competition_id).limit(1)) is not None
    )


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
    """The newest measurement of a submission on a track that counts."""
    return session.scalars(
        select(Measurement)
        .where(Measurement.submission_ref == submission_ref, Measurement.track_id == track_id)
        .where(rescoring.counts(Measurement.campaign_id))
        .order_by(Measurement.id.desc())
        .limit(1)
    ).one_or_none()


class SubmissionDetails(NamedTuple):
    """The rows in other tables that belong to a submission."""

    team: Team
    """Its team after merges."""
    code_request: CodeRequest | None
    code: CodeAttachment | None
    """The newest attachment, like the fields below."""


def details_by_ref(session: Session, refs: Collection[int]) -> dict[int, SubmissionDetails]:
    """The rows in other tables that belong to these submissions, by ref."""
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
