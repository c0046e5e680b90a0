"""What a reviewer looks at beside an entry itself, in SQL."""

from typing import NamedTuple

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from scorer.db import merges
from scorer.db.tables import Submission, Team


class Duplicate(NamedTuple):
    """Another entry that is the same zip (``same_zip``) or the same images, under its team after merges."""

    id: str
    ref: int
    team: str
    same_zip: bool


def doubles_of(session: Session, submission: Submission) -> list[Duplicate]:
    """Other entries of a competition that are the same zip, or the same images, oldest first."""
    merged = merges.newest()
    same_zip = Submission.sha256 == submission.sha256
    alike = (
        or_(same_zip, Submission.pixels_sha256 == submission.pixels_sha256) if submission.pixels_sha256 else same_zip
    )
    query = (
        select(Submission.id, Submission.ref, Team.name, same_zip)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .where(Submission.competition_id == submission.competition_id, Submission.ref != submission.ref, alike)
    )
    return [Duplicate(*row) for row in session.execute(query.order_by(Submission.ref))]
