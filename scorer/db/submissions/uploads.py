"""SQL for resumable uploads. Every change names the state that it expects, and returns whether it applied."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from scorer.db.session import count_changed
from scorer.db.tables import Upload
from scorer.db.teams.storage import IS_WRITABLE

RECEIVING = Upload.state == "receiving"
FINISHED_WITHIN = timedelta(days=7)
"""How long after an upload's expiry its submission is still created if all bytes have arrived. Workers, the disk or the
store may be down for days."""


def upload_by_id(session: Session, upload_id: str) -> Upload | None:
    """An upload, reloaded from the database even if this session has loaded it before."""
    query = select(Upload).where(Upload.id == upload_id)
    return session.scalars(query.execution_options(populate_existing=True)).one_or_none()


def open_uploads(session: Session, competition_id: int, account_id: int) -> Sequence[Upload]:
    """A person's uploads in a competition that are not submissions yet, longest idle first. Progress postpones the
    expiry, so idle means an early expiry."""
    return session.scalars(
        select(Upload)
        .where(RECEIVING, Upload.competition_id == competition_id, Upload.account_id == account_id)
        .order_by(Upload.expires_at, Upload.id)
    ).all()


def take_over(session: Session, upload_id: str, *, offset: int, writer: str) -> bool:
    """Make ``writer`` the only one that may add bytes, from ``offset`` on. False if the upload is at another offset."""
    at_offset = (Upload.received == offset) & Upload.completed_at.is_(None)
    return _change(session, upload_id, at_offset, writer=writer)


def restart(session: Session, upload_id: str, *, writer: str) -> bool:
    """Discard the received bytes and let ``writer`` start again. False unless the upload is receiving."""
    free = Upload.finishing_until.is_(None)
    return _change(session, upload_id, free, writer=writer, received=0, parts=[], completed_at=None)


def advance(
    session: Session,
    upload_id: str,
    *,
    writer: str,
    offset: int,
    to: int,
    parts: Sequence[str],
    replaces: str | None,
    **values: object,
) -> bool:
    """Count the bytes from ``offset`` to ``to``, stored in ``parts``. The first part also has the bytes of the part
    ``replaces``. False if another writer has taken over."""
    held = (Upload.writer == writer) & (Upload.received == offset)
    remaining = func.array_remove(Upload.parts, replaces)
    return _change(session, upload_id, held, received=to, parts=func.array_cat(remaining, list(parts)), **values)


def reserve(session: Session, upload_id: str, *, writer: str, reserved: int) -> bool:
    """Count ``reserved`` bytes of an upload until it is closed. False if another writer has taken over."""
    return _change(session, upload_id, Upload.writer == writer, reserved=reserved, reserved_until=None)


def change_note(session: Session, upload_id: str, note: str) -> bool:
    """Replace the note. False once all bytes have arrived, or the upload is closed."""
    return _change(session, upload_id, Upload.completed_at.is_(None), note=note)


def claim_finish(session: Session, upload_id: str, *, now: datetime, until: datetime) -> bool:
    """Let only the caller create the submission, until ``until``. False if another request is already doing that."""
    free = or_(Upload.finishing_until.is_(None), Upload.finishing_until <= now)
    return _change(session, upload_id, Upload.completed_at.is_not(None), free, finishing_until=until)


def close_upload(session: Session, upload_id: str, *, to: str, **values: object) -> bool:
    """Close a receiving upload, even while a request works on it. False if it is already closed."""
    closed: dict[str, Any] = {"state": to, "writer": None, "finishing_until": None, **values}
    return _change(session, upload_id, **closed)


def mark_arrived(session: Session, upload_id: str, *, now: datetime) -> bool:
    """Record that all bytes are in the blob store. False if that is already recorded."""
    return _change(session, upload_id, Upload.completed_at.is_(None), received=Upload.length, completed_at=now)


def release_finish(session: Session, upload_id: str, *, until: datetime, now: datetime) -> bool:
    """End the claim to create the submission that lasts until ``until``, so that another request can try."""
    return _change(session, upload_id, Upload.finishing_until == until, finishing_until=now)


def uploads_to_clear(session: Session, limit: int, now: datetime) -> Sequence[Upload]:
    """Closed uploads with parts still in the blob store, except those with a presigned address that still works."""
    closed = (Upload.state != "receiving") & (Upload.parts != []) & (~IS_WRITABLE | (Upload.expires_at <= now))
    return session.scalars(
        select(Upload).where(closed).order_by(Upload.id).limit(limit).with_for_update(skip_locked=True, of=Upload)
    ).all()


def expired(session: Session, now: datetime, limit: int) -> Sequence[Upload]:
    """Receiving uploads that have expired and that no request is finishing. Complete ones
    (:func:`next_unfinished_upload`) count only ``FINISHED_WITHIN`` later."""
    idle = or_(Upload.finishing_until.is_(None), Upload.finishing_until <= now)
    is_left = Upload.completed_at.is_not(None) & ((Upload.method == "tus") | Upload.finishing_until.is_not(None))
    is_over = or_(~is_left, Upload.expires_at <= now - FINISHED_WITHIN)
    return session.scalars(
        select(Upload)
        .where(RECEIVING, Upload.expires_at <= now, idle, is_over)
        .order_by(Upload.expires_at)
        .limit(limit)
        .with_for_update(skip_locked=True, of=Upload)
    ).all()


def next_unfinished_upload(session: Session, since: datetime) -> Upload | None:
    """The complete upload that should be a submission and has been idle longest, at least since ``since``. The request
    that creates the submission was lost or failed, or (``tus``, where the last byte starts it) never began."""
    never_begun = (Upload.method == "tus") & Upload.finishing_until.is_(None) & (Upload.completed_at <= since)
    idle_since = func.coalesce(Upload.finishing_until, Upload.completed_at)
    query = select(Upload).where(RECEIVING, Upload.completed_at.is_not(None))
    return session.scalars(
        query.where(or_(Upload.finishing_until <= since, never_begun)).order_by(idle_since).limit(1)
    ).one_or_none()


def active_upload_ids(session: Session, ids: Sequence[str]) -> Sequence[str]:
    """The uploads among these that are receiving."""
    return session.scalars(select(Upload.id).where(RECEIVING, Upload.id.in_(ids))).all()


def _change(session: Session, upload_id: str, *conditions: ColumnElement[bool], **values: object) -> bool:
    """Change an upload if it is receiving and meets the conditions; False if not."""
    change = update(Upload).where(Upload.id == upload_id, RECEIVING, *conditions).values(**values)
    return count_changed(session, change.execution_options(synchronize_session=False)) == 1
