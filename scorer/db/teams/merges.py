"""SQL for merges: the team that a submission belongs to, now or at a past moment.

A submission keeps the team that made it; merges are separate rows.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, Subquery, func, literal, select, union_all
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from scorer.db.tables import Submission, Team, TeamMerge


def newest_merges(at: datetime | None = None) -> Subquery:
    """Every merged team (``team_id``) with the team it belongs to (``into_team_id``), now or at the moment ``at``."""
    query = select(TeamMerge.team_id, TeamMerge.into_team_id).ext(distinct_on(TeamMerge.team_id))
    if at is not None:
        query = query.where(TeamMerge.created_at <= at)
    return query.order_by(TeamMerge.team_id, TeamMerge.id.desc()).subquery("merged")


def with_team(query: Select[*tuple[Any, ...]]) -> Select[*tuple[Any, ...]]:
    """A query of submissions, joined with the current team of each."""
    team_id, merged = team_now(Submission.team_id)
    return query.outerjoin(merged, merged.c.team_id == Submission.team_id).join(Team, Team.id == team_id)


def team_now(made_by: InstrumentedAttribute[int], name: str = "merged") -> tuple[ColumnElement[int], FromClause]:
    """A team after merges, and the merges to join for it on the team ``made_by``."""
    merged = newest_merges().alias(name)
    return func.coalesce(merged.c.into_team_id, made_by), merged


def belongs_to_team(team: int | ColumnElement[int], at: datetime | None = None) -> ColumnElement[bool]:
    """Whether a submission belongs to a team, now or at the moment ``at``: made by the team or one merged into it."""
    itself = select(literal(team) if isinstance(team, int) else team)
    merged = select(TeamMerge.team_id).where(*_merged_into(team, at))
    # A list of ids instead of an OR, so that the index on team_id is used.
    return Submission.team_id.in_(union_all(itself.correlate_except(), merged.correlate_except(TeamMerge)))


def _merged_into(team: int | ColumnElement[int], at: datetime | None = None) -> tuple[ColumnElement[bool], ...]:
    later = aliased(TeamMerge)
    moved_on = select(later.id).where(later.team_id == TeamMerge.team_id, later.id > TeamMerge.id)
    if at is None:
        return TeamMerge.into_team_id == team, ~moved_on.exists()
    return TeamMerge.into_team_id == team, TeamMerge.created_at <= at, ~moved_on.where(later.created_at <= at).exists()


def current_team_id() -> ColumnElement[int]:
    """The id of the team that a submission currently belongs to."""
    newest = select(TeamMerge.into_team_id).where(TeamMerge.team_id == Submission.team_id)
    return func.coalesce(newest.order_by(TeamMerge.id.desc()).limit(1).scalar_subquery(), Submission.team_id)


def current_team(session: Session, team_id: int) -> Team:
    """The team that a team's submissions currently belong to: itself, unless it was merged."""
    newest = select(TeamMerge.into_team_id).where(TeamMerge.team_id == team_id).order_by(TeamMerge.id.desc()).limit(1)
    return session.get_one(Team, session.scalar(newest) or team_id)


def absorbed_ids(session: Session, team_id: int) -> list[int]:
    return list(session.scalars(select(TeamMerge.team_id).where(*_merged_into(team_id)).order_by(TeamMerge.team_id)))
