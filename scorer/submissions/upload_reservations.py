"""Reservations: the bytes of an upload in progress that count in the quotas of its team and its competition.

An announcement reserves the length of the upload for some minutes, within the share of the free bytes that all
announcements have together. From the first byte on, the reservation lasts as long as the upload. Further bytes are
reserved before they are stored.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.db.submissions import uploads as rows
from scorer.db.tables import Competition, Upload
from scorer.errors import Conflict
from scorer.teams import storage
from scorer.teams.storage import UploadLimits

RESERVED_FOR = timedelta(minutes=5)
"""The lifetime of an announcement without a first byte."""


def reserve_announced(
    session: Session, competition: Competition, limits: UploadLimits, *, method: str, length: int, now: datetime
) -> dict[str, Any]:
    """Return the method and the reservation of a new upload, by column.

    A presigned PUT reserves its whole length while its URL works, because nobody counts its bytes as they arrive. If
    the length exceeds the share, the method becomes ``tus``.
    """
    reserved = storage.bytes_in_share(session, competition, limits, wanted=length, now=now)
    if method == "put" and reserved == length:
        return {"method": method, "reserved": reserved, "reserved_until": None}
    method = "tus" if method == "put" else method
    return {"method": method, "reserved": reserved, "reserved_until": now + RESERVED_FOR}


def reserved_bytes(upload: Upload, now: datetime | None = None) -> int:
    """Return the bytes that an upload has reserved until it is closed, or at ``now``."""
    until = upload.reserved_until
    if until is not None and (now is None or until <= now):
        return 0
    return upload.length if upload.reserved is None else upload.reserved


def reserve_arriving(
    session: Session, upload_id: str, *, writer: str, to: int, limits: UploadLimits, now: datetime
) -> int:
    """Reserve the bytes of an upload up to ``to`` before they are stored; return the reserved bytes.

    Without an earlier reservation the whole length needs room, as for an announcement. ``Conflict`` if a quota has no
    room, or if a newer request has taken over.
    """
    upload = rows.upload_by_id(session, upload_id)
    if upload is None:
        raise taken_over_error()
    reserved = reserved_bytes(upload, now)
    if to > reserved:
        competition, account, missing = upload.competition, upload.account, upload.length - reserved
        wanted, benchmark = to - reserved if reserved else missing, upload.benchmark is not None
        storage.require_room(Acting(session, account, now), competition, limits, wanted=wanted, benchmark=benchmark)
        reserved += storage.bytes_in_share(session, competition, limits, wanted=missing, now=now)
    reserved = max(to, reserved)
    if not rows.reserve(session, upload_id, writer=writer, reserved=reserved):
        raise taken_over_error()
    return reserved


def taken_over_error() -> Conflict:
    return Conflict("taken-over", "This upload has ended, or a newer request continues it.")
