"""SQL for examining an installation: the server's settings, and tasks that have been overdue for a long time."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from scorer.db.tables import Delivery, Mail, Submission
from scorer.lifecycle import DeliveryState, MailState


class ServerSettings(NamedTuple):
    """PostgreSQL's major version, the encoding of the database, and the settings that protect its data."""

    major_version: int
    encoding: str
    fsync: str
    full_page_writes: str
    synchronous_commit: str


class Unsent(NamedTuple):
    """The unsent items: how many wait, when the oldest became due, and how many have failed since a moment."""

    waiting: int
    oldest_due_at: datetime | None
    failed: int


def server_settings(session: Session) -> ServerSettings:
    names = ("server_version_num", "server_encoding", "fsync", "full_page_writes", "synchronous_commit")
    version, *others = session.execute(select(*map(func.current_setting, names))).one()
    return ServerSettings(int(version) // 10_000, *others)


def unsent_mails(session: Session, failed_since: datetime) -> Unsent:
    waiting, failed = Mail.state == MailState.WAITING, Mail.state.in_((MailState.FAILED, MailState.UNKNOWN))
    oldest = func.min(Mail.due_at).filter(waiting)
    query = select(func.count().filter(waiting), oldest, func.count().filter(failed & (Mail.due_at >= failed_since)))
    return Unsent(*session.execute(query).one())


def unsent_deliveries(session: Session) -> Unsent:
    """The waiting webhook deliveries. Failures do not count, because receivers cause them."""
    waiting = select(func.count(), func.min(Delivery.due_at)).where(Delivery.state == DeliveryState.WAITING)
    return Unsent(*session.execute(waiting).one(), failed=0)


def newest_zips(session: Session, limit: int) -> Sequence[str]:
    stored = select(Submission.blob_key).where(Submission.blob_key.is_not(None))
    return [key for key in session.scalars(stored.order_by(Submission.ref.desc()).limit(limit)) if key is not None]
