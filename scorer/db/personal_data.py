"""SQL for what is stored about a person: what they may take along, and what goes with their account."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Select, Text, cast, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session
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

COMPETITION = Competition.slug.label("competition")
TEAM = Team.name.label("team")
ENTRY = Submission.id.label("submission")


def rows_about(session: Session, account: Account, now: datetime) -> dict[str, list[dict[str, Any]]]:
    """What is stored about a person, by kind: their account and what they have brought in. No secrets, no keys of
    files, and nothing that the service has found out about their entries."""
    queries = queries_about(account, now)
    return {name: [dict(row) for row in session.execute(query).mappings()] for name, query in queries.items()}


def queries_about(account: Account, now: datetime) -> Mapping[str, Select[*tuple[Any, ...]]]:
    """By kind of rows: the query whose columns go out."""
    return {**_account_queries(account), **_message_queries(account), **_competition_queries(account.id, now)}


def _account_queries(account: Account) -> Mapping[str, Select[*tuple[Any, ...]]]:
    own = account.id
    named = AuditEntry.subject == f"account:{account.handle}"
    return {
        "account": select(Account.handle, Account.name, Account.role, Account.email, Account.created_at)
        .add_columns(Account.suspended_at)
        .where(Account.id == own),
        "tokens": select(Token.name, Token.scopes, Token.created_at, Token.last_used_at, Token.revoked_at)
        .where(Token.account_id == own)
        .order_by(Token.id),
        "sessions": select(WebSession.address, WebSession.agent, WebSession.created_at, WebSession.last_seen_at)
        .add_columns(WebSession.expires_at, WebSession.ended_at)
        .where(WebSession.account_id == own)
        .order_by(WebSession.id),
        "known_browsers": select(KnownDevice.created_at, KnownDevice.expires_at)
        .where(KnownDevice.account_id == own)
        .order_by(KnownDevice.id),
        "second_factors": select(SecondFactor.kind, SecondFactor.name, SecondFactor.created_at)
        .add_columns(SecondFactor.last_used_at, SecondFactor.ended_at)
        .where(SecondFactor.account_id == own)
        .order_by(SecondFactor.id),
        "identities": select(Identity.issuer, Identity.subject, Identity.created_at)
        .where(Identity.account_id == own)
        .order_by(Identity.id),
        "links": select(OneTimeLink.purpose, OneTimeLink.email, OneTimeLink.created_at, OneTimeLink.expires_at)
        .add_columns(OneTimeLink.used_at)
        .where(OneTimeLink.account_id == own)
        .order_by(OneTimeLink.id),
        "actions": select(AuditEntry.action, AuditEntry.subject, AuditEntry.address, AuditEntry.created_at)
        .where(AuditEntry.actor_id == own)
        .order_by(AuditEntry.id),
        "actions_of_others": select(AuditEntry.action, AuditEntry.created_at)
        .where(named, AuditEntry.actor_id.is_distinct_from(own))
        .order_by(AuditEntry.id),
    }


def _message_queries(account: Account) -> Mapping[str, Select[*tuple[Any, ...]]]:
    own = account.id
    return {
        "notices": select(Notice.kind, Notice.subject, Notice.body, Notice.link, Notice.created_at, Notice.read_at)
        .where(Notice.account_id == own)
        .order_by(Notice.id),
        "mail_choices": select(MailChoice.kind, MailChoice.mailed)
        .where(MailChoice.account_id == own)
        .order_by(MailChoice.kind),
        "mails": select(Mail.recipient, Mail.subject, Mail.state, Mail.created_at, Mail.sent_at)
        .where(func.lower(Mail.recipient) == func.lower(account.email))
        .order_by(Mail.id),
        "webhooks": select(Webhook.url, Webhook.created_at, Webhook.ended_at)
        .where(Webhook.account_id == own)
        .order_by(Webhook.id),
    }


def _competition_queries(own: int, now: datetime) -> Mapping[str, Select[*tuple[Any, ...]]]:
    invited = (TeamInvitation.account_id == own) | (TeamInvitation.invited_by == own)
    opened = Competition.opens_at <= now
    return {
        "rules_acceptances": select(COMPETITION, RulesAcceptance.rules_sha256, RulesAcceptance.created_at)
        .join(Competition, Competition.id == RulesAcceptance.competition_id)
        .where(RulesAcceptance.account_id == own)
        .order_by(RulesAcceptance.id),
        "competitions_by_invitation": select(COMPETITION, AllowlistEntry.invited, AllowlistEntry.created_at)
        .join(Competition, Competition.id == AllowlistEntry.competition_id)
        .where(AllowlistEntry.account_id == own, opened)
        .order_by(AllowlistEntry.id),
        "competition_roles": select(COMPETITION, CompetitionRole.role, CompetitionRole.offered_at)
        .add_columns(CompetitionRole.accepted_at, CompetitionRole.ended_at)
        .join(Competition, Competition.id == CompetitionRole.competition_id)
        .where(CompetitionRole.account_id == own)
        .order_by(CompetitionRole.id),
        "memberships": select(COMPETITION, TEAM, Membership.joined, Membership.created_at)
        .join(Competition, Competition.id == Membership.competition_id)
        .join(Team, Team.id == Membership.team_id)
        .where(Membership.account_id == own)
        .order_by(Membership.id),
        "team_invitations": select(COMPETITION, TEAM, (TeamInvitation.invited_by == own).label("sent"))
        .add_columns(TeamInvitation.state, TeamInvitation.created_at, TeamInvitation.answered_at)
        .join(Competition, Competition.id == TeamInvitation.competition_id)
        .join(Team, Team.id == TeamInvitation.team_id)
        .where(invited)
        .order_by(TeamInvitation.id),
        "team_renamings": select(COMPETITION, TeamRenaming.before, TeamRenaming.after, TeamRenaming.created_at)
        .join(Competition, Competition.id == TeamRenaming.competition_id)
        .where(TeamRenaming.account_id == own)
        .order_by(TeamRenaming.id),
        "final_picks": select(TEAM, PickSet.submission_refs, PickSet.created_at)
        .join(Team, Team.id == PickSet.team_id)
        .where(PickSet.author_id == own)
        .order_by(PickSet.id),
        **_entry_queries(own),
        "ratings": select(Rater.study_id, RatingItem.kind, Rating.value, Rating.created_at)
        .select_from(Rating)
        .join(Rater, Rater.id == Rating.rater_id)
        .join(RatingItem, RatingItem.id == Rating.item_id)
        .where(Rater.account_id == own)
        .order_by(Rating.id),
    }


def _entry_queries(own: int) -> Mapping[str, Select[*tuple[Any, ...]]]:
    return {
        "entries": select(Submission.id, Submission.ref, COMPETITION, TEAM, Submission.file_name, Submission.bytes)
        .add_columns(Submission.sha256, Submission.note, Submission.status, Submission.late)
        .add_columns(Submission.accepted_at, Submission.finished_at)
        .join(Competition, Competition.id == Submission.competition_id)
        .join(Team, Team.id == Submission.team_id)
        .where(Submission.account_id == own)
        .order_by(Submission.ref),
        "uploads": select(COMPETITION, Upload.file_name, Upload.note, Upload.length, Upload.received, Upload.state)
        .add_columns(Upload.begun_at, Upload.expires_at)
        .join(Competition, Competition.id == Upload.competition_id)
        .where(Upload.account_id == own)
        .order_by(Upload.begun_at, Upload.id),
        "code": select(ENTRY, CodeAttachment.kind, CodeAttachment.bytes, CodeAttachment.sha256)
        .add_columns(CodeAttachment.created_at)
        .join(Submission, Submission.ref == CodeAttachment.submission_ref)
        .where(CodeAttachment.author_id == own)
        .order_by(CodeAttachment.id),
        "generators": select(ENTRY, GeneratorFile.bytes, GeneratorFile.sha256, GeneratorFile.dimension)
        .add_columns(GeneratorFile.distribution, GeneratorFile.created_at)
        .join(Submission, Submission.ref == GeneratorFile.submission_ref)
        .where(GeneratorFile.author_id == own)
        .order_by(GeneratorFile.id),
        "rebuttals": select(ENTRY, Rebuttal.track, Rebuttal.text, Rebuttal.created_at)
        .join(Submission, Submission.ref == Rebuttal.submission_ref)
        .where(Rebuttal.author_id == own)
        .order_by(Rebuttal.id),
        "reviews": select(ENTRY, Review.label, Review.intent, Review.note, Review.created_at)
        .join(Submission, Submission.ref == Review.submission_ref)
        .where(Review.reviewer_id == own)
        .order_by(Review.id),
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
    """What a team was called before."""
    return set(session.scalars(select(TeamRenaming.before).where(TeamRenaming.team_id == team_id)))


def erase_names(session: Session, account_id: int, pseudonym: str, *, team_names: Collection[str]) -> None:
    """Take the names of an account that is marked as deleted, and these names of its teams, out of the rows that the
    service may only add to, by the database's function for that."""
    function = func.erase_names(cast(account_id, BigInteger), pseudonym, cast(list(team_names), ARRAY(Text)))
    session.execute(select(function))


def erase_rows(session: Session, account: Account, alone: Collection[int], *, pseudonym: str, now: datetime) -> None:
    """Remove or empty a person's rows that nobody else needs. ``alone``: their teams of one, whose entries lose the
    names of their files and their notes, too."""
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
        update(Submission).where(entries).values(file_name="entry.zip", note=""),
    )
