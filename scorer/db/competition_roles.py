"""SQL for people's roles in competitions."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import exists, insert, literal, select
from sqlalchemy.orm import Session

from scorer.db.tables import Account, Competition, CompetitionRole, Membership


def current_roles(session: Session, competition_id: int) -> Sequence[CompetitionRole]:
    """The roles in a competition that are offered or held, oldest first."""
    roles = select(CompetitionRole).where(
        CompetitionRole.competition_id == competition_id, CompetitionRole.ended_at.is_(None)
    )
    return session.scalars(roles.order_by(CompetitionRole.id)).all()


def current_role(session: Session, competition_id: int, account_id: int) -> CompetitionRole | None:
    """The role in a competition that a person is offered or holds."""
    return next((role for role in current_roles(session, competition_id) if role.account_id == account_id), None)


def load_judges(session: Session, competition_id: int) -> Sequence[CompetitionRole]:
    """The roles held in a competition by people who are not suspended, oldest first."""
    return [
        role
        for role in current_roles(session, competition_id)
        if role.accepted_at is not None and role.account.suspended_at is None
    ]


def without_organizer(session: Session) -> dict[int, str]:
    """The competitions that nobody organizes, as titles by id. Organizers are people with the role, and admins who have
    not been in a team of the competition. Suspended people do not count."""
    active = Account.suspended_at.is_(None)
    of_competition = CompetitionRole.competition_id == Competition.id
    held = (
        (CompetitionRole.role == "organizer")
        & CompetitionRole.accepted_at.is_not(None)
        & CompetitionRole.ended_at.is_(None)
    )
    named = exists().where(of_competition, held, Account.id == CompetitionRole.account_id, active)
    has_competed = exists().where(Membership.competition_id == Competition.id, Membership.account_id == Account.id)
    admins = exists().where(Account.role == "admin", active, ~has_competed.correlate(Competition, Account))
    query = select(Competition.id, Competition.title).where(
        Competition.deleted_at.is_(None),
        ~named.correlate(Competition),
        ~admins.correlate(Competition),
    )
    return {row.id: row.title for row in session.execute(query.order_by(Competition.id))}


def has_held_role(session: Session, competition_id: int, account_id: int) -> bool:
    """Whether a person holds or has held a role in a competition."""
    held = (
        (CompetitionRole.competition_id == competition_id)
        & (CompetitionRole.account_id == account_id)
        & CompetitionRole.accepted_at.is_not(None)
    )
    return session.scalar(select(CompetitionRole.id).where(held).limit(1)) is not None


def has_been_member(session: Session, competition_id: int, account_id: int) -> bool:
    """Whether a person is or has been in a team of a competition."""
    member = (Membership.competition_id == competition_id) & (Membership.account_id == account_id)
    return session.scalar(select(Membership.id).where(member).limit(1)) is not None


def competitions_entered_by(session: Session, account_id: int) -> Sequence[Competition]:
    """The competitions that a person is or has been in a team of."""
    entered = select(Membership.competition_id).where(Membership.account_id == account_id)
    return session.scalars(select(Competition).where(Competition.id.in_(entered))).all()


def add_former_organizer(session: Session, account_id: int, now: datetime) -> None:
    """Record a person as former organizer of every competition that they have not entered."""
    entered = exists().where(Membership.competition_id == Competition.id, Membership.account_id == Account.id)
    former = (
        select(Competition.id, Account.id, literal("organizer"), literal(now), literal(now), literal(now))
        .select_from(Competition)
        .join(Account, Account.id == account_id)
        .where(~entered)
    )
    columns = ("competition_id", "account_id", "role", "offered_at", "accepted_at", "ended_at")
    session.execute(insert(CompetitionRole).from_select(columns, former))
