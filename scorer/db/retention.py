"""Retention: deletes rows some time after they have ended. All other rows are kept.

These are sessions, second factors, known devices, links, mails, deliveries, webhooks, uploads and workers' reports.
"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import ColumnElement, delete, exists, func, select
from sqlalchemy.orm import Session

from scorer.db.session import count_changed
from scorer.db.tables import (
    Delivery,
    KnownDevice,
    Mail,
    OneTimeLink,
    SecondFactor,
    Table,
    Upload,
    Webhook,
    WebSession,
    WorkerReport,
)
from scorer.lifecycle import DeliveryState, MailState


def expired_before(moment: datetime) -> Mapping[type[Table], ColumnElement[bool]]:
    """The conditions for rows that had ended, by table. Deliveries precede the webhooks that they refer to."""
    has_deliveries = exists().where(Delivery.webhook_id == Webhook.id)
    return {
        WebSession: func.least(WebSession.ended_at, WebSession.expires_at) < moment,
        SecondFactor: SecondFactor.ended_at < moment,
        KnownDevice: KnownDevice.expires_at < moment,
        OneTimeLink: func.least(OneTimeLink.used_at, OneTimeLink.expires_at) < moment,
        Mail: Mail.state.not_in((MailState.WAITING, MailState.SENDING)) & (Mail.due_at < moment),
        Delivery: Delivery.state.in_((DeliveryState.SENT, DeliveryState.FAILED)) & (Delivery.due_at < moment),
        Webhook: (Webhook.ended_at < moment) & ~has_deliveries,
        WorkerReport: WorkerReport.reported_at < moment,
        # Only the upload's row names the parts that still have to be deleted.
        Upload: (Upload.state != "receiving") & (Upload.expires_at < moment) & (func.cardinality(Upload.parts) == 0),
    }


def remove(session: Session, table: type[Table], over: ColumnElement[bool], *, limit: int) -> int:
    """Delete at most ``limit`` rows and return how many. Locked rows stay until the next round."""
    (key,) = table.__mapper__.primary_key
    expired = select(key).where(over).order_by(key).limit(limit).with_for_update(skip_locked=True)
    return count_changed(session, delete(table).where(key.in_(expired)).execution_options(synchronize_session=False))
