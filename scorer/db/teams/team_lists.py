"""SQL for the organizers' list of teams and their members."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import ConfigDict
from sqlalchemy import ColumnElement, func, literal, select, true
from sqlalchemy.orm import InstrumentedAttribute, Session

from scorer.db.tables import Account, Membership, Submission, Team
from scorer.db.teams import merges


@dataclass(frozen=True)
class ListedMember:
    """A member of a team."""

    handle: str
    name: str
    joined_at: datetime


@dataclass(frozen=True)
class ListedTeam:
    """A team, its members in the order in which they joined, and the number of its submissions."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    id: int
    name: str
    submissions: int
    members: Sequence[ListedMember]
    """The first one leads the team."""


def list_teams(
    session: Session, competition_id: int, search: str = "", *, after: int = 0, limit: int | None = None
) -> list[ListedTeam]:
    """The teams with members, sorted by id, only those after the id ``after``. ``search``: only teams with this text in
    their name, or in a member's handle or name, ignoring case."""
    is_member = Membership.is_current() & (Membership.competition_id == competition_id)
    teams = select(Team.id, Team.name).where(Team.competition_id == competition_id, Team.id > after)
    memberships = select(Membership.id).join(Account, Account.id == Membership.account_id).where(is_member)
    memberships = memberships.where(Membership.team_id == Team.id)
    in_person = _contains(Account.handle, search) | _contains(Account.name, search)
    wanted = _contains(Team.name, search) | memberships.where(in_person).exists() if search else true()
    page = session.execute(teams.where(memberships.exists(), wanted).order_by(Team.id).limit(limit)).all()
    ids = [team.id for team in page]
    members: dict[int, list[ListedMember]] = {id_: [] for id_ in ids}
    people = select(Membership.team_id, Account.handle, Account.name, Membership.created_at)
    people = people.join(Account, Account.id == Membership.account_id).where(is_member, Membership.team_id.in_(ids))
    for row in session.execute(people.order_by(Membership.id)):
        members[row.team_id].append(ListedMember(row.handle, row.name, row.created_at))
    team_now, merged = merges.team_now(Submission.team_id)
    counted = select(team_now, func.count()).outerjoin(merged, merged.c.team_id == Submission.team_id)
    counted = counted.where(Submission.competition_id == competition_id, team_now.in_(ids)).group_by(team_now)
    counts = {team_id: count for team_id, count in session.execute(counted)}  # noqa: C416 - rows are no pairs to mypy
    return [ListedTeam(team.id, team.name, counts.get(team.id, 0), members[team.id]) for team in page]


def _contains(column: InstrumentedAttribute[str], search: str) -> ColumnElement[bool]:
    return func.strpos(func.lower(column), func.lower(literal(search))) > 0
