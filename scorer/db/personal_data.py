"""SQL for the data stored about a person: what they can export, and what is deleted with their account."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

from sqlalchemy import BigInteger, Select, Text, case, cast, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import InstrumentedAttribute, Session
from sqlalchemy.sql.dml import Delete, Update

from scorer.db.tables import (
    Account,
    AllowlistEntry,
    AuditEntry,
    CodeAttachment,
    Competition,
    CompetitionRole,
    Delivery,
    GeneratorFile,
    Identity,
    KnownDevice,
    Mail,
    MailChoice,
    Membership,
    Notice,
    OneTimeLink,
    PickSet,
    Rater,
    Rating,
    RatingItem,
    Rebuttal,
    Review,
    RulesAcceptance,
    SecondFactor,
    Submission,
    Team,
    TeamInvitation,
    TeamRenaming,
    Token,
    Upload,
    Webhook,
    WebSession,
)
from scorer.lifecycle import DeliveryState, MailState

NAMES: Mapping[str, tuple[InstrumentedAttribute[str], InstrumentedAttribute[int], str]] = MappingProxyType(
    {
        "competition": (Competition.slug, Competition.id, "competition_id"),
        "team": (Team.name, Team.id, "team_id"),
        "submission": (Submission.id, Submission.ref, "submission_ref"),
    }
)
"""The names shown for a competition, team or entry that a row refers to: the column with the name, its key, and the
row's column with that key."""


def rows_about(session: Session, account: Account, now: datetime) -> dict[str, list[dict[str, Any]]]:
    """The data stored about a person, by kind: their account and everything that they submitted. Excludes secrets, keys
    of files, and everything that the service has found out about their entries."""
    queries = queries_about(account, now)
    return {name: [dict(row) for row in session.execute(query).mappings()] for name, query in queries.items()}


def queries_about(account: Account, now: datetime) -> Mapping[str, Select[*tuple[Any, ...]]]:
    """The queries that read the exported columns, by kind of rows."""
    return {**_account_queries(account), **_message_queries(account), **_competition_queries(account.id, now)}


def _rows(own: int, owner: InstrumentedAttribute[Any], *columns: str) -> Select[*tuple[Any, ...]]:
    """These columns of the rows of a table that belong to the person according to the column ``owner``, oldest first. A
    column may be one of :data:`NAMES`."""
    table = owner.class_
    selected = [NAMES[name][0].label(name) if name in NAMES else getattr(table, name) for name in columns]
    query = select(*selected).select_from(table).where(owner == own).order_by(*table.__mapper__.primary_key)
    for _, key, reference in (NAMES[name] for name in columns if name in NAMES):
        query = query.join(key.class_, key == getattr(table, reference))
    return query


def _account_queries(account: Account) -> Mapping[str, Select[*tuple[Any, ...]]]:
    own = account.id
    named = AuditEntry.subject == f"account:{account.handle}"
    session = ("address", "agent", "created_at", "last_seen_at", "expires_at", "ended_at")
    return {
        "account": _rows(own, Account.id, "handle", "name", "role", "email", "created_at", "suspended_at"),
        "tokens": _rows(own, Token.account_id, "name", "scopes", "created_at", "last_used_at", "revoked_at"),
        "sessions": _rows(own, WebSession.account_id, *session),
        "known_browsers": _rows(own, KnownDevice.account_id, "created_at", "expires_at"),
        "second_factors": _rows(own, SecondFactor.account_id, "kind", "name", "created_at", "last_used_at", "ended_at"),
        "identities": _rows(own, Identity.account_id, "issuer", "subject", "created_at"),
        "links": _rows(own, OneTimeLink.account_id, "purpose", "email", "created_at", "expires_at", "used_at"),
        "actions": _rows(own, AuditEntry.actor_id, "action", "subject", "address", "created_at"),
        "actions_of_others": select(AuditEntry.action, AuditEntry.created_at)
        .where(named, AuditEntry.actor_id.is_distinct_from(own))
        .order_by(AuditEntry.id),
    }


def _message_queries(account: Account) -> Mapping[str, Select[*tuple[Any, ...]]]:
    own = account.id
    return {
        "notices": _rows(own, Notice.account_id, "kind", "subject", "body", "link", "created_at", "read_at"),
        "mail_choices": _rows(own, MailChoice.account_id, "kind", "mailed"),
        "mails": select(Mail.recipient, Mail.subject, Mail.state, Mail.created_at, Mail.sent_at)
        .where(func.lower(Mail.recipient) == func.lower(account.email))
        .order_by(Mail.id),
        "webhooks": _rows(own, Webhook.account_id, "url", "created_at", "ended_at"),
    }


def _competition_queries(own: int, now: datetime) -> Mapping[str, Select[*tuple[Any, ...]]]:
    invited = (TeamInvitation.account_id == own) | (TeamInvitation.invited_by == own)
    invitations = _rows(own, AllowlistEntry.account_id, "competition", "invited", "created_at")
    return {
        "rules_acceptances": _rows(own, RulesAcceptance.account_id, "competition", "rules_sha256", "created_at"),
        "competitions_by_invitation": invitations.where(Competition.opens_at <= now),
        "competition_roles": _rows(
            own, CompetitionRole.account_id, "competition", "role", "offered_at", "accepted_at", "ended_at"
        ),
        "memberships": _rows(own, Membership.account_id, "competition", "team", "joined", "created_at"),
        "team_invitations": select(Competition.slug.label("competition"), Team.name.label("team"))
        .add_columns((TeamInvitation.invited_by == own).label("sent"))
        .add_columns(TeamInvitation.state, TeamInvitation.created_at, TeamInvitation.answered_at)
        .join(Competition, Competition.id == TeamInvitation.competition_id)
        .join(Team, Team.id == TeamInvitation.team_id)
        .where(invited)
        .order_by(TeamInvitation.id),
        "team_renamings": _rows(own, TeamRenaming.account_id, "competition", "before", "after", "created_at"),
        "final_picks": _rows(own, PickSet.author_id, "team", "submission_refs", "created_at"),
        **_entry_queries(own),
        "ratings": select(Rater.study_id, RatingItem.kind, Rating.value, Rating.created_at)
        .select_from(Rating)
        .join(Rater, Rater.id == Rating.rater_id)
        .join(RatingItem, RatingItem.id == Rating.item_id)
        .where(Rater.account_id == own)
        .order_by(Rating.id),
    }


def _entry_queries(own: int) -> Mapping[str, Select[*tuple[Any, ...]]]:
    entry = ("id", "ref", "competition", "team", "file_name", "bytes", "sha256", "note", "latent", "status", "late")
    upload = ("competition", "file_name", "note", "latent", "length", "received", "state", "begun_at", "expires_at")
    generator = ("submission", "bytes", "sha256", "dimension", "distribution", "classes", "created_at")
    return {
        "entries": _rows(own, Submission.account_id, *entry, "accepted_at", "finished_at"),
        "uploads": _rows(own, Upload.account_id, *upload).order_by(None).order_by(Upload.begun_at, Upload.id),
        "code": _rows(own, CodeAttachment.author_id, "submission", "kind", "bytes", "sha256", "created_at"),
        "generators": _rows(own, GeneratorFile.author_id, *generator),
        "rebuttals": _rows(own, Rebuttal.author_id, "submission", "track", "text", "created_at"),
        "reviews": _rows(own, Review.reviewer_id, "submission", "label", "intent", "note", "created_at"),
    }


def joined_teams(session: Session, account_id: int) -> Sequence[Team]:
    """Every team that a person is or was a member of."""
    own = select(Membership.team_id).where(Membership.account_id == account_id)
    return session.scalars(select(Team).where(Team.id.in_(own)).order_by(Team.id)).all()


def team_ids_alone(session: Session, account_id: int) -> set[int]:
    """The ids of the teams that nobody but this person has ever been a member of."""
    own = select(Membership.team_id).where(Membership.account_id == account_id)
    shared = select(Membership.team_id).where(Membership.account_id != account_id, Membership.team_id.in_(own))
    return set(session.scalars(own)) - set(session.scalars(shared))


def former_names(session: Session, team_id: int) -> set[str]:
    return set(session.scalars(select(TeamRenaming.before).where(TeamRenaming.team_id == team_id)))


def erase_names(session: Session, account_id: int, pseudonym: str, *, team_names: Collection[str]) -> None:
    """Remove an account's and its teams' names from append-only rows, which only a function of the database may do."""
    function = func.erase_names(cast(account_id, BigInteger), pseudonym, cast(list(team_names), ARRAY(Text)))
    session.execute(select(function))


def erase_rows(session: Session, account: Account, alone: Collection[int], *, pseudonym: str, now: datetime) -> None:
    """Remove or empty a person's rows that nobody else needs. ``alone`` are the ids of their teams of one. The entries
    of these teams also lose their notes and file names."""
    for statement in _erasures(account.id, account.email or "", alone, pseudonym=pseudonym, now=now):
        session.execute(statement, execution_options={"synchronize_session": False})


def _erasures(
    own: int, email: str, alone: Collection[int], *, pseudonym: str, now: datetime
) -> Sequence[Delete | Update]:
    invited = (TeamInvitation.account_id == own) & (TeamInvitation.state == "open")
    has_role = (CompetitionRole.account_id == own) & CompetitionRole.ended_at.is_(None)
    sent_there = (func.lower(Mail.recipient) == email.lower()) & (Mail.state != MailState.SENDING)
    links = or_(OneTimeLink.account_id == own, func.lower(OneTimeLink.email) == email.lower())
    receiving = (Upload.account_id == own) & (Upload.state == "receiving")
    entries = (Submission.account_id == own) & Submission.team_id.in_(alone)
    unnamed = case((Submission.file_name.endswith(".onnx"), "entry.onnx"), else_="entry.zip")
    hooks = select(Webhook.id).where(Webhook.account_id == own)
    posted = Delivery.webhook_id.in_(hooks) & (Delivery.state != DeliveryState.SENDING)
    return (
        delete(Delivery).where(posted),
        delete(WebSession).where(WebSession.account_id == own),
        delete(SecondFactor).where(SecondFactor.account_id == own),
        delete(KnownDevice).where(KnownDevice.account_id == own),
        delete(OneTimeLink).where(links),
        delete(Mail).where(sent_there),
        update(Token).where(Token.account_id == own).values(name=""),
        update(Webhook).where(Webhook.account_id == own).values(url="", secret=""),
        update(Upload).where(receiving).values(expires_at=now),
        update(Upload).where(Upload.account_id == own).values(file_name="", note="", described=""),
        update(CompetitionRole).where(has_role).values(ended_at=now),
        update(TeamInvitation).where(invited).values(state="withdrawn", answered_at=now),
        update(Rater).where(Rater.account_id == own).values(name=pseudonym),
        update(Submission).where(entries).values(file_name=unnamed, note=""),
    )
