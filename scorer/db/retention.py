"""Removing what is over, in SQL: the only rows that are ever deleted."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, CursorResult, delete, exists, func, select
from sqlalchemy.orm import Session

from scorer.db.tables import Delivery, Mail, OneTimeLink, Table, Upload, Webhook, WebSession
from scorer.lifecycle import DeliveryState, MailState


def expired_before(moment: datetime) -> Mapping[type[Table], ColumnElement[bool]]:
    """What was over at a moment, by table. Deliveries come before the webhooks that they point to."""
    sent = exists().where(Delivery.webhook_id == Webhook.id)
    return {
        WebSession: func.least(WebSession.ended_at, WebSession.expires_at) < moment,
        OneTimeLink: func.least(OneTimeLink.used_at, OneTimeLink.expires_at) < moment,
        Mail: Mail.state.not_in((MailState.WAITING, MailState.SENDING)) & (Mail.due_at < moment),
        Delivery: Delivery.state.in_((DeliveryState.SENT, DeliveryState.FAILED)) & (Delivery.due_at < moment),
        Webhook: (Webhook.ended_at < moment) & ~sent,
        # Bytes that are still to be deleted are known by their upload alone.
        Upload: (Upload.state != "receiving") & (Upload.expires_at < moment) & (func.cardinality(Upload.parts) == 0),
    }


def remove(session: Session, table: type[Table], over: ColumnElement[bool], most: int) -> int:
    """Delete at most so many rows of a table that are over; how many there were. Rows that somebody holds wait for the
    next round."""
    (key,) = table.__mapper__.primary_key
    some = select(key).where(over).order_by(key).limit(most).with_for_update(skip_locked=True)
    result = session.execute(delete(table).where(key.in_(some)), execution_options={"synchronize_session": False})
    return result.rowcount if isinstance(result, CursorResult) else 0
