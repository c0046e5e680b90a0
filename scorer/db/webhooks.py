"""Webhooks in SQL: whose they are, and what they still have to be sent."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import CursorResult, exists, func, or_, select, update
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import Delivery, Webhook
from scorer.lifecycle import DeliveryState

PENDING = (DeliveryState.WAITING, DeliveryState.SENDING)


def living(session: Session, account_id: int, team_ids: Collection[int]) -> Sequence[Webhook]:
    """A person's webhooks and those of their teams, oldest first."""
    own = or_(
        Webhook.team_id.is_(None) & (Webhook.account_id == account_id),
        Webhook.team_id.in_(team_ids),
    )
    return session.scalars(select(Webhook).where(Webhook.ended_at.is_(None), own).order_by(Webhook.id)).all()


def move(session: Session, team_ids: Collection[int], to: int) -> None:
    """What was these teams' is the team ``to``'s."""
    session.execute(update(Webhook).where(Webhook.team_id.in_(team_ids)).values(team_id=to))


def deliveries_of(session: Session, webhook_id: int, *, limit: int) -> Sequence[Delivery]:
    """What a webhook was sent, or is to be, newest first."""
    query = select(Delivery).where(Delivery.webhook_id == webhook_id).order_by(Delivery.id.desc()).limit(limit)
    return session.scalars(query).all()


def claim_due(session: Session, *, now: datetime, lease_until: datetime, limit: int) -> Sequence[Delivery]:
    """Take what is due, oldest first, one of each webhook: a slow receiver keeps no other waiting, and no receiver is
    called twice at once. What a lost sender has left is due again."""
    other = aliased(Delivery)
    busy = exists().where(
        other.webhook_id == Delivery.webhook_id, other.state == DeliveryState.SENDING, other.due_at > now
    )
    first = (
        select(func.min(Delivery.id))
        .where(Delivery.state.in_(PENDING), Delivery.due_at <= now, ~busy)
        .group_by(Delivery.webhook_id)
    )
    due = select(Delivery.id).where(Delivery.id.in_(first), Delivery.state.in_(PENDING), Delivery.due_at <= now)
    taken = due.order_by(Delivery.due_at, Delivery.id).limit(limit).with_for_update(skip_locked=True).cte("taken")
    claimed = update(Delivery).where(Delivery.id.in_(select(taken.c.id)))
    values = {"state": DeliveryState.SENDING, "attempts": Delivery.attempts + 1, "due_at": lease_until}
    ids = session.scalars(claimed.values(values).returning(Delivery.id)).all()
    fresh = select(Delivery).where(Delivery.id.in_(ids)).order_by(Delivery.id)
    return session.scalars(fresh.execution_options(populate_existing=True)).all()


def close(session: Session, delivery: Delivery, *, state: DeliveryState, **values: object) -> bool:
    """Say what became of an attempt; False if it was not the newest one."""
    ours = (
        (Delivery.id == delivery.id)
        & (Delivery.state == DeliveryState.SENDING)
        & (Delivery.attempts == delivery.attempts)
    )
    result = session.execute(update(Delivery).where(ours).values(state=state, **values))
    return isinstance(result, CursorResult) and result.rowcount == 1


def drop(session: Session, webhook_id: int, error: str) -> None:
    """Send a webhook nothing more."""
    waiting = (Delivery.webhook_id == webhook_id) & (Delivery.state == DeliveryState.WAITING)
    session.execute(update(Delivery).where(waiting).values(state=DeliveryState.FAILED, error=error))
