"""Notices in SQL: written once for everybody they are for, by every way at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import CursorResult, Insert, Select, func, insert, literal, or_, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from scorer.db.tables import Account, Competition, Delivery, Mail, MailChoice, Membership, Notice, Table, Team, Webhook
from scorer.lifecycle import DeliveryState, MailState


@dataclass(frozen=True)
class Words:
    """What a notice says; ``link`` is a path on this site."""

    kind: str
    subject: str
    body: str
    link: str


class TeamName(NamedTuple):
    """A team, and the competition that it is in."""

    name: str
    slug: str
    title: str


def members_of(session: Session, team_ids: Collection[int]) -> Sequence[int]:
    """The accounts of those who are in one of these teams."""
    return session.scalars(_present(Membership.account_id).where(Membership.team_id.in_(team_ids)).distinct()).all()


def teams_of(session: Session, account_id: int) -> Sequence[int]:
    """The teams that a person is in."""
    return session.scalars(_present(Membership.team_id).where(Membership.account_id == account_id)).all()


def named_teams_of(session: Session, account_id: int) -> list[TeamName]:
    """The teams that a person is in, by name."""
    here = Team.id.in_(_present(Membership.team_id).where(Membership.account_id == account_id))
    query = select(Team.name, Competition.slug, Competition.title).join(Competition).where(here)
    return [TeamName(*row) for row in session.execute(query.order_by(Competition.title, Team.name))]


def _present(column: InstrumentedAttribute[int]) -> Select[int]:
    """Of memberships that hold: the newest of a person in a competition, unless they left."""
    later = aliased(Membership)
    here = (later.competition_id == Membership.competition_id) & (later.account_id == Membership.account_id)
    return select(column).where(Membership.joined, ~select(later.id).where(here, later.id > Membership.id).exists())


def competing_teams(session: Session, competition_id: int) -> Sequence[int]:
    """The teams of a competition, benchmarks apart."""
    competing = select(Team.id).where(Team.competition_id == competition_id, Team.benchmark.is_(False))
    return session.scalars(competing).all()


def write(
    session: Session,
    words: Words,
    *,
    accounts: Collection[int],
    teams: Collection[int],
    mailed: bool,
    farewell: str,
    now: datetime,
) -> None:
    """Put a notice on the site for ``accounts``, into the outbox for those of them who have an address and want it
    (without a word of theirs: ``mailed``), and on the way to their webhooks and those of ``teams``."""
    own = {"kind": words.kind, "subject": words.subject, "body": words.body, "link": words.link, "created_at": now}
    due = {"attempts": 0, "due_at": now}
    session.execute(_copies(Notice, "account_id", own, select(Account.id).where(Account.id.in_(accounts))))
    choice = (MailChoice.account_id == Account.id) & (MailChoice.kind == words.kind)
    wanting = select(Account.email).outerjoin(MailChoice, choice).where(Account.id.in_(accounts))
    wanting = wanting.where(Account.email.is_not(None), func.coalesce(MailChoice.mailed, mailed))
    mail = {name: own[name] for name in ("subject", "link", "created_at")} | {"body": words.body + farewell}
    session.execute(_copies(Mail, "recipient", mail | due | {"state": MailState.WAITING}, wanting))
    personal = Webhook.team_id.is_(None) & Webhook.account_id.in_(accounts)
    hooks = select(Webhook.id).where(Webhook.ended_at.is_(None), or_(personal, Webhook.team_id.in_(teams)))
    session.execute(_copies(Delivery, "webhook_id", own | due | {"state": DeliveryState.WAITING}, hooks))


def _copies(table: type[Table], name: str, values: Mapping[str, Any], of: Select[Any]) -> Insert:
    """A row of ``values`` for each value that ``of`` finds for the column ``name``."""
    columns = table.__table__.c
    constants = [literal(value, columns[each].type) for each, value in values.items()]
    return insert(table).from_select([name, *values], of.add_columns(*constants), include_defaults=False)


def page_of(
    session: Session, account_id: int, *, before: int | None, limit: int, unread: bool = False
) -> Sequence[Notice]:
    """A person's notices, newest first, older than the one with the id ``before``."""
    query = select(Notice).where(Notice.account_id == account_id)
    if before is not None:
        query = query.where(Notice.id < before)
    if unread:
        query = query.where(Notice.read_at.is_(None))
    return session.scalars(query.order_by(Notice.id.desc()).limit(limit)).all()


def count_unread(session: Session, account_id: int) -> int:
    """How many notices a person has not read."""
    unread = (Notice.account_id == account_id) & Notice.read_at.is_(None)
    return session.scalar(select(func.count()).select_from(Notice).where(unread)) or 0


def mark_read(
    session: Session, account_id: int, now: datetime, *, only: int | None = None, up_to: int | None = None
) -> int:
    """Mark a person's notices as read: one, or all up to one; how many were not yet."""
    these = (Notice.account_id == account_id) & Notice.read_at.is_(None)
    if only is not None:
        these &= Notice.id == only
    if up_to is not None:
        these &= Notice.id <= up_to
    result = session.execute(update(Notice).where(these).values(read_at=now))
    return result.rowcount if isinstance(result, CursorResult) else 0


def exists(session: Session, account_id: int, notice_id: int) -> bool:
    """Whether a person has this notice."""
    query = select(Notice.id).where(Notice.id == notice_id, Notice.account_id == account_id)
    return session.scalar(query) is not None


def mail_choices(session: Session, account_id: int) -> dict[str, bool]:
    """What a person has said about mails, by kind."""
    found = session.scalars(select(MailChoice).where(MailChoice.account_id == account_id))
    return {choice.kind: choice.mailed for choice in found}


def choose_mail(session: Session, account_id: int, kind: str, *, mailed: bool) -> None:
    """Keep what a person says about mails of a kind."""
    row = postgresql.insert(MailChoice).values(account_id=account_id, kind=kind, mailed=mailed)
    session.execute(row.on_conflict_do_update(index_elements=["account_id", "kind"], set_={"mailed": mailed}))
