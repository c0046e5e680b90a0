"""Webhooks of accounts and their deliveries: signed notices, sent after the commit and retried for a day.

Delivery is at least once. A delivery is marked as being sent, and the mark is committed, before it leaves. So only one
worker sends it at a time, and confirmed deliveries are not repeated. If the sender dies or the response is late, the
delivery is sent again with the same id, which the receiver can recognise. Signatures follow Standard Webhooks
(https://www.standardwebhooks.com).
"""

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.db import accounts, notifications
from scorer.db.newest_rows import newest_rows
from scorer.db.tables import Account, Delivery, Webhook
from scorer.errors import Conflict, Invalid, NotFound
from scorer.lifecycle import DeliveryState
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText

PREFIX = "whsec_"
"""The beginning of a secret; the rest is its key in base64."""
KEY_BYTES = 32


def encode_secret(key: bytes) -> str:
    """Return the secret for a random key of 24 to 64 bytes, in the format of receivers' libraries."""
    return PREFIX + b64encode(key).decode()


def signed_headers(secret: str, delivery_id: str, timestamp: int, *, body: bytes) -> Mapping[str, str]:
    """Return the headers for verifying a delivery: its id, its time and the HMAC-SHA256 of both with the body.

    ``timestamp`` is in Unix seconds; receivers use it to refuse replayed requests.
    """
    key = b64decode(secret.removeprefix(PREFIX))
    signature = hmac.digest(key, f"{delivery_id}.{timestamp}.".encode() + body, hashlib.sha256)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{b64encode(signature).decode()}",
    }


MAX_WEBHOOKS = 10
"""Webhooks per account."""
MAX_URL_LENGTH = 2000
PORTS = (None, 443, 8443)
"""The usual ports of https. People see the outcome of a webhook, which must not reveal other open ports of a host."""
FIRST_RETRY_AFTER = timedelta(minutes=1)
"""The delay before the second attempt; it doubles with each further attempt."""
GIVE_UP_AFTER = timedelta(days=1)
SENDING_LEASE = timedelta(minutes=1)
PING = "ping"


def register(acting: Acting, url: str, *, secret: str, local: bool) -> Webhook:
    """Register ``url`` for an account's notices. ``secret`` is random, made by the caller.

    ``local`` allows addresses without TLS. ``Invalid`` for an unusable address, ``Conflict`` for too many webhooks.
    """
    require_url(url, local=local)
    accounts.lock_account(acting.session, acting.actor.id)
    if len(notifications.active_webhooks(acting.session, acting.actor.id)) >= MAX_WEBHOOKS:
        raise Conflict("too-many-webhooks", f"You have {MAX_WEBHOOKS} webhooks, which is the limit. Remove one first.")
    webhook = Webhook(account_id=acting.actor.id, url=url, secret=secret, created_at=acting.now)
    acting.session.add(webhook)
    acting.session.flush()
    return webhook


def require_url(url: str, *, local: bool) -> None:
    """``Invalid`` unless this URL can receive notices.

    Each delivery checks whether the host is public, because DNS records change.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, 0
    schemes, port_fits = ({"https", "http"}, port != 0) if local else ({"https"}, port in PORTS)
    usable = host is not None and port_fits and parts.scheme in schemes
    if (
        not usable
        or "@" in parts.netloc
        or len(url) > MAX_URL_LENGTH
        or " " in url
        or not (url.isascii() and url.isprintable())
    ):
        raise Invalid(
            "bad-url",
            "This address cannot be used for a webhook. Use an https:// URL with port 443 or 8443 and no user name.",
        )


def find_webhook(session: Session, account: Account, webhook_id: int) -> Webhook:
    """Return a webhook of an account; ``NotFound`` if it has no such webhook."""
    for webhook in notifications.active_webhooks(session, account.id):
        if webhook.id == webhook_id:
            return webhook
    raise NotFound("no-webhook", "You have no such webhook.")


def end(acting: Acting, webhook_id: int) -> None:
    """Remove a webhook and cancel its waiting deliveries."""
    _end(acting.session, find_webhook(acting.session, acting.actor, webhook_id), acting.now)


def end_all(session: Session, account: Account, *, exclude: Collection[int] = (), now: datetime) -> None:
    """Remove the webhooks of an account, except the ids in ``exclude``."""
    for webhook in notifications.active_webhooks(session, account.id):
        if webhook.id not in exclude:
            _end(session, webhook, now)


def _end(session: Session, webhook: Webhook, now: datetime, *, reason: str = "The webhook was removed.") -> None:
    webhook.ended_at = now
    notifications.cancel_deliveries(session, webhook.id, reason)


def deliveries(
    session: Session, account: Account, webhook_id: int, *, before: int | None = None, limit: int
) -> Sequence[Delivery]:
    """Return the deliveries to a webhook with their outcomes, newest first. ``before``: only older ones than this
    id."""
    webhook = find_webhook(session, account, webhook_id)
    return newest_rows(session, Delivery, before=before, limit=limit, webhook_id=webhook.id)


def ping(acting: Acting, webhook_id: int) -> Delivery:
    webhook = find_webhook(acting.session, acting.actor, webhook_id)
    delivery = Delivery(
        webhook_id=webhook.id,
        kind=PING,
        subject="Test delivery",
        body="This is a test. Your webhook works.",
        link="/notices",
        state=DeliveryState.WAITING,
        attempts=0,
        created_at=acting.now,
        due_at=acting.now,
    )
    acting.session.add(delivery)
    acting.session.flush()
    return delivery


def claim_deliveries(session: Session, *, now: datetime, limit: int) -> Sequence[Delivery]:
    """Claim the deliveries due now, one per webhook. The caller commits before it sends."""
    return notifications.claim_deliveries(session, now=now, lease_until=now + SENDING_LEASE, limit=limit)


def mark_arrived(session: Session, delivery: Delivery, *, now: datetime) -> None:
    notifications.close_delivery(session, delivery, state=DeliveryState.SENT, sent_at=now, error=None)


def stop(session: Session, delivery: Delivery, *, error: str, now: datetime) -> None:
    """End a webhook because its receiver refuses further deliveries, and notify its account."""
    notifications.close_delivery(session, delivery, state=DeliveryState.FAILED, error=error)
    webhook = session.get_one(Webhook, delivery.webhook_id)
    if webhook.ended_at is not None:
        return
    _end(session, webhook, now, reason=error)
    body = f"Your webhook {webhook.url} no longer gets notices. {error} To use it again, add it again."
    notice = NoticeText(Kind.WEBHOOK, "Your webhook was stopped", body, "/account/notices#webhooks")
    notices.notify(session, notice, now, accounts=[webhook.account_id])


def record_failure(session: Session, delivery: Delivery, *, error: str, now: datetime) -> None:
    """Schedule a retry with exponential backoff, or close the delivery as failed after a day."""
    due_at = now + FIRST_RETRY_AFTER * 2 ** (delivery.attempts - 1)
    if due_at - delivery.created_at > GIVE_UP_AFTER:
        notifications.close_delivery(session, delivery, state=DeliveryState.FAILED, error=error)
    else:
        notifications.close_delivery(session, delivery, state=DeliveryState.WAITING, error=error, due_at=due_at)
