"""SQL for teams: members, names, invitations, benchmarks and used quotas."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, case, func, literal, literal_column, select, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.tables import (
    Account,
    Membership,
    Submission,
    Team,
    TeamInvitation,
)
from scorer.db.teams import merges
from scorer.lifecycle import PENDING, UNCHARGED, Status, utc_day


@dataclass(frozen=True)
class QuotaUsage:
    """A team's entries of this UTC day (``charged``, ``rejected``) and in progress (``pending``)."""

    charged: int
    pending: int
    rejected: int


def lock_changes(session: Session, competition_id: int) -> None:
    """Let only one transaction at a time change the names, members and merges of a competition's teams."""
    session.execute(select(func.pg_advisory_xact_lock(competition_id), func.pg_current_xact_id()))


def lock_teams(session: Session, team_ids: Collection[int]) -> None:
    """Let only one transaction at a time change these teams and use their quotas. Locks them in the order of ids, to
    avoid deadlocks."""
    teams = select(Team.id).where(Team.id.in_(team_ids)).order_by(Team.id)
    session.execute(teams.with_for_update(key_share=True)).all()


def load_members(session: Session, team_id: int) -> Sequence[Account]:
    """The members of a team in the order in which they joined. The first one is its leader."""
    query = select(Account).join(Membership, Membership.account_id == Account.id).where(_are_members(team_id))
    return session.scalars(query.order_by(Membership.id)).all()


def member_ids(team_id: int) -> Select[int]:
    return select(Membership.account_id).where(_are_members(team_id))


def _are_members(team_id: int) -> ColumnElement[bool]:
    return (Membership.team_id == team_id) & Membership.is_current()


def largest_team(session: Session, competition_id: int) -> int:
    """The number of members of a competition's largest team; 0 without teams."""
    current = select(func.count().label("members")).where(
        Membership.competition_id == competition_id, Membership.is_current()
    )
    sizes = current.group_by(Membership.team_id).subquery("sizes")
    return session.scalar(select(func.max(sizes.c.members))) or 0


def is_name_taken(session: Session, competition_id: int, name: str) -> bool:
    """Whether a team of a competition, including merged ones, has this name, ignoring case and comparing in NFKC."""
    query = select(Team.id).where(Team.competition_id == competition_id, _has_name(name))
    return session.scalar(query.limit(1)) is not None


def _has_name(name: str) -> ColumnElement[bool]:
    nfkc: ColumnElement[str] = literal_column("NFKC")
    return func.lower(func.normalize(Team.name, nfkc)) == func.lower(func.normalize(literal(name), nfkc))


def competing_team(session: Session, competition_id: int, name: str) -> Team | None:
    """The team with this name that is not a benchmark, ignoring case and comparing in NFKC."""
    query = select(Team).where(Team.competition_id == competition_id, _has_name(name), ~Team.benchmark)
    # The oldest teams may have names that differ only in case. For these, only the exact spelling counts.
    return session.scalars(query.order_by((Team.name == name).desc(), Team.id).limit(1)).one_or_none()


def has_entered(session: Session, competition_id: int, account_id: int) -> bool:
    """Whether a person has made a submission in a competition, regardless of its outcome."""
    query = select(Submission.ref).join(Team, Team.id == Submission.team_id)
    entries = (Submission.competition_id == competition_id) & (Submission.account_id == account_id)
    return session.scalar(query.where(entries, ~Team.benchmark).limit(1)) is not None


def competitions_entered(session: Session, account_id: int) -> set[int]:
    """The competitions where a person's current team has made submissions, regardless of their outcome."""
    newest = (
        select(Membership.competition_id, Membership.team_id, Membership.joined)
        .ext(distinct_on(Membership.competition_id))
        .where(Membership.account_id == account_id)
        .order_by(Membership.competition_id, Membership.id.desc())
        .subquery("newest")
    )
    submitted = select(Submission.ref).where(merges.belongs_to_team(newest.c.team_id)).exists()
    return set(session.scalars(select(newest.c.competition_id).where(newest.c.joined, submitted)))


def count_charged(session: Session, team_ids: Collection[int]) -> int:
    """How many submissions of these teams in time have ever counted against a daily limit."""
    charged = Submission.team_id.in_(team_ids) & Submission.status.not_in(UNCHARGED) & ~Submission.late
    return session.scalar(select(func.count()).where(charged)) or 0


def lock_invitation(session: Session, competition_id: int, invitation_id: int) -> TeamInvitation | None:
    query = select(TeamInvitation).where(
        TeamInvitation.id == invitation_id, TeamInvitation.competition_id == competition_id
    )
    return session.scalars(query.with_for_update(of=TeamInvitation)).one_or_none()


def open_invitation(
    session: Session, team_id: int, *, account_id: int | None = None, invited_team_id: int | None = None
) -> TeamInvitation | None:
    query = select(TeamInvitation).where(
        TeamInvitation.team_id == team_id,
        TeamInvitation.state == "open",
        TeamInvitation.account_id.is_not_distinct_from(account_id),
        TeamInvitation.invited_team_id.is_not_distinct_from(invited_team_id),
    )
    return session.scalars(query).one_or_none()


def invitations_sent_by(session: Session, team_id: int) -> Sequence[TeamInvitation]:
    """The open invitations of a team, oldest first."""
    query = select(TeamInvitation).where(TeamInvitation.team_id == team_id, TeamInvitation.state == "open")
    return session.scalars(query.order_by(TeamInvitation.id)).all()


def invitations_sent_to(
    session: Session, competition_id: int, account_id: int, *, team_id: int | None
) -> Sequence[TeamInvitation]:
    """The open invitations to a person or to their team, oldest first."""
    is_invited = TeamInvitation.account_id == account_id
    if team_id is not None:
        is_invited |= TeamInvitation.invited_team_id == team_id
    query = select(TeamInvitation).where(
        TeamInvitation.competition_id == competition_id, TeamInvitation.state == "open", is_invited
    )
    return session.scalars(query.order_by(TeamInvitation.id)).all()


def close_invitations(session: Session, team_id: int, now: datetime) -> None:
    """Withdraw all open invitations from and to a team, which no longer exists."""
    involved = (TeamInvitation.team_id == team_id) | (TeamInvitation.invited_team_id == team_id)
    session.execute(
        update(TeamInvitation)
        .where(involved, TeamInvitation.state == "open")
        .values(state="withdrawn", answered_at=now)
    )


def load_team(session: Session, competition_id: int, account_id: int) -> Team | None:
    newest = (
        select(Membership.team_id, Membership.joined)
        .where(Membership.competition_id == competition_id, Membership.account_id == account_id)
        .order_by(Membership.id.desc())
        .limit(1)
        .subquery("newest")
    )
    return session.scalars(select(Team).join(newest, newest.c.team_id == Team.id).where(newest.c.joined)).one_or_none()


def is_own(account_id: int) -> ColumnElement[bool]:
    """Whether a submission currently belongs to a person's team."""
    team_id = case((Membership.joined, Membership.team_id))
    own = select(team_id).where(
        Membership.competition_id == Submission.competition_id, Membership.account_id == account_id
    )
    return merges.current_team_id() == own.order_by(Membership.id.desc()).limit(1).scalar_subquery()


def benchmark_by_name(session: Session, competition_id: int, names: Sequence[str]) -> Team | None:
    query = select(Team).where(Team.competition_id == competition_id, Team.benchmark, Team.name.in_(names))
    return session.scalars(query.limit(1)).one_or_none()


def load_usage(session: Session, team_id: int, now: datetime, *, late: bool = False) -> QuotaUsage:
    """What a team, with merged teams, has used on the UTC day of ``now``. ``late``: of the quota for late entries."""
    start, end = utc_day(now)
    today = (Submission.accepted_at >= start) & (Submission.accepted_at < end)
    row = session.execute(
        select(
            func.count().filter(today & Submission.status.not_in(UNCHARGED)),
            func.count().filter(Submission.status.in_(PENDING)),
            func.count().filter(today & (Submission.status == Status.REJECTED)),
        ).where(merges.belongs_to_team(team_id), Submission.late == late)
    ).one()
    return QuotaUsage(charged=row[0], pending=row[1], rejected=row[2])


def count_submissions(session: Session, team_id: int) -> int:
    """How many submissions a team has made, with teams merged into it, regardless of their outcome."""
    return int(session.scalar(select(func.count()).where(merges.belongs_to_team(team_id))) or 0)
