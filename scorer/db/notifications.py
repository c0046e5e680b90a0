"""SQL for notices, the outbox of mails, and webhook deliveries."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Insert, Select, exists, func, insert, literal, or_, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import Session, aliased

from scorer.db.newest_rows import newest_rows
from scorer.db.session import count_changed
from scorer.db.tables import Account, Delivery, Mail, MailChoice, Membership, Notice, Table, Team, Webhook
from scorer.lifecycle import DeliveryState, MailState

MAX_FAULTS = 20


@dataclass(frozen=True)
class NoticeText:
    kind: str
    subject: str
    body: str
    link: str


class MailFault(NamedTuple):
    """A reason why mails have not been sent: how many wait, how many were given up, and when the oldest was written."""

    error: str
    waiting: int
    lost: int
    since: datetime


def member_accounts(session: Session, team_ids: Collection[int]) -> Sequence[int]:
    members = select(Membership.account_id).where(Membership.is_current(), Membership.team_id.in_(team_ids))
    return session.scalars(members.distinct()).all()


def competing_teams(session: Session, competition_id: int) -> Sequence[int]:
    """The ids of a competition's teams, without benchmarks."""
    competing = select(Team.id).where(Team.competition_id == competition_id, Team.benchmark.is_(False))
    return session.scalars(competing).all()


def write_notice(
    session: Session,
    text: NoticeText,
    *,
    accounts: Collection[int],
    mailed: bool,
    farewell: str,
    now: datetime,
) -> None:
    """Write a notice for ``accounts``, mails for those with an address who want this kind by mail (default:
    ``mailed``), and deliveries to their webhooks. ``farewell`` is the last part of each mail."""
    notice = {"kind": text.kind, "subject": text.subject, "body": text.body, "link": text.link, "created_at": now}
    due = {"attempts": 0, "due_at": now}
    session.execute(_rows_for(Notice, "account_id", notice, keys=select(Account.id).where(Account.id.in_(accounts))))
    choice = (MailChoice.account_id == Account.id) & (MailChoice.kind == text.kind)
    wanting = select(Account.email).outerjoin(MailChoice, choice).where(Account.id.in_(accounts))
    wanting = wanting.where(Account.email.is_not(None), func.coalesce(MailChoice.mailed, mailed))
    mail = {name: notice[name] for name in ("subject", "link", "created_at")} | {"body": text.body + farewell}
    session.execute(_rows_for(Mail, "recipient", mail | due | {"state": MailState.WAITING}, keys=wanting))
    hooks = select(Webhook.id).where(Webhook.ended_at.is_(None), Webhook.account_id.in_(accounts))
    session.execute(_rows_for(Delivery, "webhook_id", notice | due | {"state": DeliveryState.WAITING}, keys=hooks))


def _rows_for(table: type[Table], name: str, values: Mapping[str, Any], *, keys: Select[Any]) -> Insert:
    """Insert a row of ``values`` for each value of ``keys``, which is the value of the column ``name``."""
    columns = table.__table__.c
    constants = [literal(value, columns[column].type) for column, value in values.items()]
    return insert(table).from_select([name, *values], keys.add_columns(*constants), include_defaults=False)


def notices_page(
    session: Session, account_id: int, *, before: int | None = None, limit: int, unread: bool = False
) -> Sequence[Notice]:
    """A person's notices (``unread``: only unread ones) older than the id ``before``, newest first."""
    wanted = [Notice.account_id == account_id, *([Notice.read_at.is_(None)] if unread else [])]
    return newest_rows(session, Notice, *wanted, before=before, limit=limit)


def count_unread(session: Session, account_id: int) -> int:
    unread = (Notice.account_id == account_id) & Notice.read_at.is_(None)
    return session.scalar(select(func.count()).select_from(Notice).where(unread)) or 0


def mark_read(
    session: Session, account_id: int, now: datetime, *, only: int | None = None, up_to: int | None = None
) -> int:
    """Mark the notice with id ``only``, or all up to id ``up_to``, as read. Returns how many were unread."""
    unread = (Notice.account_id == account_id) & Notice.read_at.is_(None)
    if only is not None:
        unread &= Notice.id == only
    if up_to is not None:
        unread &= Notice.id <= up_to
    return count_changed(session, update(Notice).where(unread).values(read_at=now))


def notice_exists(session: Session, account_id: int, notice_id: int) -> bool:
    query = select(Notice.id).where(Notice.id == notice_id, Notice.account_id == account_id)
    return session.scalar(query) is not None


def mail_choices(session: Session, account_id: int) -> dict[str, bool]:
    """Whether a person wants mails, by kind of notice. Only includes kinds for which they have made a choice."""
    choices = session.scalars(select(MailChoice).where(MailChoice.account_id == account_id))
    return {choice.kind: choice.mailed for choice in choices}


def choose_mail(session: Session, account_id: int, kind: str, *, mailed: bool) -> None:
    row = postgresql.insert(MailChoice).values(account_id=account_id, kind=kind, mailed=mailed)
    session.execute(row.on_conflict_do_update(index_elements=["account_id", "kind"], set_={"mailed": mailed}))


def claim_mail(session: Session, *, now: datetime, lease_until: datetime) -> Mail | None:
    """Claim the due mail that has waited longest; None if none is due."""
    due = (
        select(Mail.id)
        .where(
            Mail.state == MailState.WAITING, Mail.due_at <= now, or_(Mail.expires_at.is_(None), Mail.expires_at > now)
        )
        .order_by(Mail.due_at, Mail.id)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    taken = update(Mail).where(Mail.id == due)
    return session.scalars(
        taken.values(state=MailState.SENDING, attempts=Mail.attempts + 1, due_at=lease_until).returning(Mail)
    ).one_or_none()


def close_mail(session: Session, mail_id: int, *, state: MailState, **values: object) -> bool:
    """Record the outcome of a mail that is being sent; False if it has already been recorded."""
    taken = (Mail.id == mail_id) & (Mail.state == MailState.SENDING)
    return count_changed(session, update(Mail).where(taken).values(state=state, **values)) == 1


def expire_mails(session: Session, now: datetime) -> int:
    """Close waiting mails with expired content; returns how many."""
    late = (Mail.state == MailState.WAITING) & (Mail.expires_at <= now)
    return count_changed(session, update(Mail).where(late).values(state=MailState.EXPIRED, body=""))


def close_lost_mails(session: Session, now: datetime) -> int:
    """Close mails that lost their sender. They may or may not have been sent. Returns how many."""
    abandoned = (Mail.state == MailState.SENDING) & (Mail.due_at <= now)
    error = "The process that was sending it ended. The email may or may not have been sent."
    lost = {"state": MailState.UNKNOWN, "body": "", "error": error}
    return count_changed(session, update(Mail).where(abandoned).values(lost))


def mail_faults(session: Session, since: datetime) -> list[MailFault]:
    """Why mails wait, and why others were not sent since the moment ``since``, newest first."""
    waiting = Mail.state == MailState.WAITING
    lost = Mail.state.in_((MailState.FAILED, MailState.UNKNOWN, MailState.EXPIRED)) & (Mail.due_at >= since)
    columns = Mail.error, func.count().filter(waiting), func.count().filter(lost), func.min(Mail.created_at)
    query = select(*columns).where(Mail.error.is_not(None), waiting | lost).group_by(Mail.error)
    newest = query.order_by(func.max(Mail.created_at).desc()).limit(MAX_FAULTS)
    return [MailFault._make(row) for row in session.execute(newest)]


PENDING_STATES = (DeliveryState.WAITING, DeliveryState.SENDING)


def active_webhooks(session: Session, account_id: int) -> Sequence[Webhook]:
    active = (Webhook.account_id == account_id) & Webhook.ended_at.is_(None)
    return session.scalars(select(Webhook).where(active).order_by(Webhook.id)).all()


def claim_deliveries(session: Session, *, now: datetime, lease_until: datetime, limit: int) -> Sequence[Delivery]:
    """Claim due deliveries, oldest first and at most one per webhook. So a slow receiver delays no other one, and no
    receiver gets two requests at the same time. A delivery that lost its sender is due again after its lease."""
    other = aliased(Delivery)
    busy = exists().where(
        other.webhook_id == Delivery.webhook_id, other.state == DeliveryState.SENDING, other.due_at > now
    )
    first = (
        select(func.min(Delivery.id))
        .where(Delivery.state.in_(PENDING_STATES), Delivery.due_at <= now, ~busy)
        .group_by(Delivery.webhook_id)
    )
    due = select(Delivery.id).where(Delivery.id.in_(first), Delivery.state.in_(PENDING_STATES), Delivery.due_at <= now)
    chosen = due.order_by(Delivery.due_at, Delivery.id).limit(limit).with_for_update(skip_locked=True).cte("taken")
    claim = update(Delivery).where(Delivery.id.in_(select(chosen.c.id)))
    values = {"state": DeliveryState.SENDING, "attempts": Delivery.attempts + 1, "due_at": lease_until}
    ids = session.scalars(claim.values(values).returning(Delivery.id)).all()
    claimed = select(Delivery).where(Delivery.id.in_(ids)).order_by(Delivery.id)
    return session.scalars(claimed.execution_options(populate_existing=True)).all()


def close_delivery(session: Session, delivery: Delivery, *, state: DeliveryState, **values: object) -> bool:
    """Record the outcome of an attempt to deliver; False if another attempt has begun since."""
    this_attempt = (
        (Delivery.id == delivery.id)
        & (Delivery.state == DeliveryState.SENDING)
        & (Delivery.attempts == delivery.attempts)
    )
    return count_changed(session, update(Delivery).where(this_attempt).values(state=state, **values)) == 1


def cancel_deliveries(session: Session, webhook_id: int, error: str) -> None:
    """Fail all waiting deliveries of a webhook."""
    waiting = (Delivery.webhook_id == webhook_id) & (Delivery.state == DeliveryState.WAITING)
    session.execute(update(Delivery).where(waiting).values(state=DeliveryState.FAILED, error=error))
