"""Uploads in SQL. Every change is guarded by the state that it expects."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, CursorResult, func, or_, select, update
from sqlalchemy.orm import Session

from scorer.db.tables import Upload

RECEIVING = Upload.state == "receiving"


def upload_by_id(session: Session, upload_id: str) -> Upload | None:
    """An upload as it stands in the database, whatever this session knew of it."""
    query = select(Upload).where(Upload.id == upload_id)
    return session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def upload_by_idempotency_key(session: Session, competition_id: int, account_id: int, key: str) -> Upload | None:
    """The upload that an earlier request with the same key has begun."""
    return session.scalars(
        select(Upload).where(
            Upload.competition_id == competition_id,
            Upload.account_id == account_id,
            Upload.idempotency_key == key,
        )
    ).one_or_none()


def open_uploads(session: Session, competition_id: int, account_id: int) -> Sequence[Upload]:
    """A person's uploads under way that are not complete, the longest untouched first: progress moves the expiry."""
    return session.scalars(
        select(Upload)
        .where(
            RECEIVING,
            Upload.competition_id == competition_id,
            Upload.account_id == account_id,
            Upload.completed_at.is_(None),
        )
        .order_by(Upload.expires_at, Upload.id)
    ).all()


def take_over(session: Session, upload_id: str, *, offset: int, writer: str) -> bool:
    """Let ``writer`` alone add bytes from ``offset`` on; False if the upload stands elsewhere."""
    here = (Upload.received == offset) & Upload.completed_at.is_(None)
    return _changed(session, (Upload.id == upload_id) & RECEIVING & here, writer=writer)


def restart(session: Session, upload_id: str, *, writer: str) -> bool:
    """Forget what has arrived and let ``writer`` begin anew; False unless the upload is under way."""
    free = Upload.finishing_until.is_(None)
    return _changed(
        session,
        (Upload.id == upload_id) & RECEIVING & free,
        writer=writer,
        received=0,
        parts=[],
        completed_at=None,
    )


def advance(
    session: Session, upload_id: str, *, writer: str, offset: int, to: int, parts: Sequence[str], **values: object
) -> bool:
    """Count the bytes from ``offset`` up to ``to``, which ``parts`` hold; False if ``writer`` may no longer."""
    held = (Upload.id == upload_id) & RECEIVING & (Upload.writer == writer) & (Upload.received == offset)
    return _changed(session, held, received=to, parts=func.array_cat(Upload.parts, list(parts)), **values)


def claim_finish(session: Session, upload_id: str, *, now: datetime, until: datetime) -> bool:
    """Let the caller alone make the submission until ``until``; False if somebody does already."""
    free = or_(Upload.finishing_until.is_(None), Upload.finishing_until <= now)
    whole = Upload.completed_at.is_not(None)
    return _changed(session, (Upload.id == upload_id) & RECEIVING & whole & free, finishing_until=until)


def close_upload(session: Session, upload_id: str, *, to: str, **values: object) -> bool:
    """End an upload that is under way, whoever works on it; False if it was closed before."""
    closed: dict[str, Any] = {"state": to, "writer": None, "finishing_until": None, **values}
    return _changed(session, (Upload.id == upload_id) & RECEIVING, **closed)


def mark_arrived(session: Session, upload_id: str, *, now: datetime) -> bool:
    """Note that all bytes lie in the store; False if that was known."""
    coming = (Upload.id == upload_id) & RECEIVING & Upload.completed_at.is_(None)
    return _changed(session, coming, received=Upload.length, completed_at=now)


def release_finish(session: Session, upload_id: str, *, until: datetime, now: datetime) -> bool:
    """Whoever had ``until`` to make the submission gives up: anybody may try again."""
    held = (Upload.id == upload_id) & RECEIVING & (Upload.finishing_until == until)
    return _changed(session, held, finishing_until=now)


def uploads_to_clear(session: Session, limit: int) -> Sequence[Upload]:
    """Closed uploads whose parts are still in the store."""
    closed = (Upload.state != "receiving") & (Upload.parts != [])
    return session.scalars(
        select(Upload).where(closed).order_by(Upload.id).limit(limit).with_for_update(skip_locked=True, of=Upload)
    ).all()


def expired(session: Session, now: datetime, limit: int) -> Sequence[Upload]:
    """Uploads that nobody has gone on with for too long."""
    idle = or_(Upload.finishing_until.is_(None), Upload.finishing_until <= now)
    return session.scalars(
        select(Upload)
        .where(RECEIVING, Upload.expires_at <= now, idle)
        .order_by(Upload.expires_at)
        .limit(limit)
        .with_for_update(skip_locked=True, of=Upload)
    ).all()


def next_unfinished_upload(session: Session, since: datetime) -> Upload | None:
    """A whole upload that nobody has worked on ``since`` then although it should be a submission by now: its maker
    vanished or failed, or (``tus``, where the last byte asks for it) was never there. The longest untouched first."""
    never = (Upload.method == "tus") & Upload.finishing_until.is_(None) & (Upload.completed_at <= since)
    untouched = func.coalesce(Upload.finishing_until, Upload.completed_at)
    query = select(Upload).where(RECEIVING, Upload.completed_at.is_not(None))
    return session.scalars(
        query.where(or_(Upload.finishing_until <= since, never)).order_by(untouched).limit(1)
    ).one_or_none()


def active_upload_ids(session: Session, ids: Sequence[str]) -> Sequence[str]:
    """Which of these uploads are under way."""
    return session.scalars(select(Upload.id).where(RECEIVING, Upload.id.in_(ids))).all()


def _changed(session: Session, where: ColumnElement[bool], **values: object) -> bool:
    result = session.execute(update(Upload).where(where).values(**values).execution_options(synchronize_session=False))
    return isinstance(result, CursorResult) and result.rowcount == 1
