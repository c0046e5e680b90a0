"""Webhooks: notices posted to an address of a person or a team, signed, after the commit, and tried for a day.

A delivery is marked as being sent, and that is committed, before it leaves; so no two workers send it at once, and
what has arrived is not sent again. A sender that vanishes, or an answer that does not come in time, leaves a doubt:
then it is sent again with the same id, by which a receiver knows it.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from sqlalchemy.orm import Session

from scorer.db import notifications
from scorer.db.notifications import NamedTeam
from scorer.db.tables import Account, Competition, Delivery, Team, Webhook
from scorer.db.teams import members
from scorer.errors import Conflict, Invalid, NotFound
from scorer.lifecycle import DeliveryState

MAX_WEBHOOKS = 10
"""Webhooks of a person and their teams."""
MAX_URL_LENGTH = 2000
FIRST_RETRY_AFTER = timedelta(minutes=1)
"""Before the second attempt; twice as long before each further one."""
GIVE_UP_AFTER = timedelta(days=1)
SENDING_LEASE = timedelta(minutes=1)
MAX_DELIVERIES_LISTED = 50
PING = "ping"


def register(
    session: Session, account: Account, url: str, *, secret: str, team: Team | None, local: bool, now: datetime
) -> Webhook:
    """Post a person's notices, or their team's, to ``url`` from now on. ``secret`` is random, made at the edge;
    ``local`` allows addresses without TLS. ``Invalid`` for what is no address for this, ``Conflict`` for too many."""
    require_url(url, local=local)
    if len(list_webhooks(session, account)) >= MAX_WEBHOOKS:
        raise Conflict(
            "too-many-webhooks", f"You and your teams have {MAX_WEBHOOKS} webhooks; please remove one first."
        )
    webhook = Webhook(account_id=account.id, team_id=team.id if team else None, url=url, secret=secret, created_at=now)
    session.add(webhook)
    session.flush()
    return webhook


def team_in(session: Session, account: Account, competition: Competition) -> Team:
    """The person's team in a competition; ``Conflict`` if there is none yet."""
    team = members.team_of(session, competition.id, account.id)
    if team is None:
        raise Conflict("no-team", f"You have no team in {competition.title} yet.")
    return team


def teams_of(session: Session, account: Account) -> Sequence[NamedTeam]:
    """The teams that a person is in."""
    return notifications.named_teams_of(session, account.id)


def require_url(url: str, *, local: bool) -> None:
    """``Invalid`` unless notices can be posted there. Whether the host is one of the public network is looked at when
    it is called: names change."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, 0
    known = host is not None and port != 0 and parts.scheme in ({"https", "http"} if local else {"https"})
    if (
        not known
        or "@" in parts.netloc
        or len(url) > MAX_URL_LENGTH
        or " " in url
        or not (url.isascii() and url.isprintable())
    ):
        raise Invalid("bad-url", "A webhook needs an address that begins with https:// and names no user.")


def list_webhooks(session: Session, account: Account) -> Sequence[Webhook]:
    """A person's webhooks and those of their teams."""
    return notifications.active_webhooks(session, account.id, notifications.team_ids_of(session, account.id))


def find_webhook(session: Session, account: Account, webhook_id: int) -> Webhook:
    """One of them; ``NotFound`` otherwise."""
    for each in list_webhooks(session, account):
        if each.id == webhook_id:
            return each
    raise NotFound("no-webhook", "You have no such webhook.")


def end(session: Session, account: Account, webhook_id: int, *, now: datetime) -> None:
    """Post nothing there any more."""
    webhook = find_webhook(session, account, webhook_id)
    webhook.ended_at = now
    notifications.cancel_deliveries(session, webhook.id, "The webhook was removed.")


def deliveries(session: Session, account: Account, webhook_id: int) -> Sequence[Delivery]:
    """What a webhook was sent, newest first, and what became of it."""
    return notifications.deliveries_of(
        session, find_webhook(session, account, webhook_id).id, limit=MAX_DELIVERIES_LISTED
    )


def ping(session: Session, account: Account, webhook_id: int, *, now: datetime) -> Delivery:
    """Send a webhook something to try it with."""
    webhook = find_webhook(session, account, webhook_id)
    delivery = Delivery(
        webhook_id=webhook.id,
        kind=PING,
        subject="A trial",
        body="If you read this, the webhook works.",
        link="/notices",
        state=DeliveryState.WAITING,
        attempts=0,
        created_at=now,
        due_at=now,
    )
    session.add(delivery)
    session.flush()
    return delivery


def claim_deliveries(session: Session, *, now: datetime, limit: int) -> Sequence[Delivery]:
    """What is to be sent now, one for each webhook. Commit before you send it."""
    return notifications.claim_deliveries(session, now=now, lease_until=now + SENDING_LEASE, limit=limit)


def mark_arrived(session: Session, delivery: Delivery, *, now: datetime) -> None:
    """The receiver has said so."""
    notifications.close_delivery(session, delivery, state=DeliveryState.SENT, sent_at=now, error=None)


def record_failure(session: Session, delivery: Delivery, *, error: str, now: datetime) -> None:
    """It may not have arrived: try again, later and later, for a day."""
    due_at = now + FIRST_RETRY_AFTER * 2 ** (delivery.attempts - 1)
    if due_at - delivery.created_at > GIVE_UP_AFTER:
        notifications.close_delivery(session, delivery, state=DeliveryState.FAILED, error=error)
    else:
        notifications.close_delivery(session, delivery, state=DeliveryState.WAITING, error=error, due_at=due_at)
