"""What a reviewer looks at beside an entry itself, in SQL."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, func, or_, select
from sqlalchemy.orm import Session

from scorer.db import merges
from scorer.db.tables import Submission, Team


def doubles_of(session: Session, submission: Submission) -> Sequence[Row[Any]]:
    """Other entries of a competition that are the same zip, or the same images, oldest first: the ``submission``, its
    ``team_id`` and ``team`` now, ``same_zip``."""
    merged = merges.newest()
    same_zip = Submission.sha256 == submission.sha256
    alike = (
        or_(same_zip, Submission.pixels_sha256 == submission.pixels_sha256) if submission.pixels_sha256 else same_zip
    )
    query = (
        select(Submission.id, Submission.ref, Submission.file_name, Submission.accepted_at)
        .add_columns(Team.id.label("team_id"), Team.name.label("team"), same_zip.label("same_zip"))
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .where(Submission.competition_id == submission.competition_id, Submission.ref != submission.ref, alike)
    )
    return session.execute(query.order_by(Submission.ref)).all()
