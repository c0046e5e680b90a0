"""SQL for final picks: a team's newest picks, and the entries that it may pick."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from scorer.db.newest_rows import newest_row
from scorer.db.tables import PickSet, Submission, Team
from scorer.db.teams import merges
from scorer.lifecycle import PICKABLE


def newest_picks(session: Session, team_id: int, at: datetime | None = None) -> PickSet | None:
    """A team's newest set of picks, which counts, now or at the moment ``at``."""
    until = () if at is None else (PickSet.created_at <= at,)
    return newest_row(session, PickSet, *until, team_id=team_id)


def most_picks(session: Session, competition_id: int) -> int:
    newest = select(PickSet.submission_refs).ext(distinct_on(PickSet.team_id)).join(Team, Team.id == PickSet.team_id)
    newest = newest.where(Team.competition_id == competition_id).order_by(PickSet.team_id, PickSet.id.desc())
    picks = newest.subquery("picks")
    return session.scalar(select(func.max(func.cardinality(picks.c.submission_refs)))) or 0


def pickable(session: Session, team_id: int, submission_ids: Collection[str]) -> dict[str, int]:
    """The submissions that a team may pick, as refs by id: its own, in time, scored or being scored."""
    query = select(Submission.id, Submission.ref).where(
        merges.belongs_to_team(team_id),
        ~Submission.late,
        Submission.status.in_(PICKABLE),
        Submission.id.in_(submission_ids),
    )
    return {row.id: row.ref for row in session.execute(query)}
