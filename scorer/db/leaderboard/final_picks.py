"""SQL for final picks: a team's newest picks, and the entries that it may pick."""

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from scorer.db.leaderboard.scores import judged_entries
from scorer.db.tables import PickSet, Submission


def newest_picks(session: Session, team_id: int, at: datetime | None = None) -> PickSet | None:
    """A team's newest set of picks, the one that counts, now or at the moment ``at``."""
    query = select(PickSet).where(PickSet.team_id == team_id)
    if at is not None:
        query = query.where(PickSet.created_at <= at)
    return session.scalars(query.order_by(PickSet.id.desc()).limit(1)).one_or_none()


def pickable(session: Session, track_id: int, team_id: int, submission_ids: Collection[str]) -> dict[str, int]:
    """The refs, by id, of those of the submissions that a team may pick: its own, scored on the track, in time."""
    scores = judged_entries(track_id=track_id).subquery("scores")
    query = (
        select(scores.c.id, scores.c.ref)
        .join(Submission, Submission.ref == scores.c.ref)
        .where(scores.c.team_id == team_id, ~Submission.late, scores.c.id.in_(submission_ids))
    )
    return {row.id: row.ref for row in session.execute(query)}
