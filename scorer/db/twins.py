"""What more than one team has handed in, in SQL."""

from itertools import groupby
from typing import Any, Literal

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from scorer.db import merges
from scorer.db.tables import Submission, Team


def shared(
    session: Session, competition_id: int, column: Literal["sha256", "pixels_sha256"], *, most: int
) -> list[list[Row[Any]]]:
    """Groups of entries with equal contents from different teams, as the teams are after merges; of each entry ``id``,
    ``ref``, ``team``, ``status`` and ``accepted_at``, oldest first. At most ``most`` entries, the newest contents."""
    content = getattr(Submission, column)
    merged = merges.newest()
    team_id = func.coalesce(merged.c.into_team_id, Submission.team_id)
    here = (Submission.competition_id == competition_id) & content.is_not(None)
    several = (
        select(content.label("content"), func.max(Submission.ref).label("newest"))
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .where(here)
        .group_by(content)
        .having(func.count(team_id.distinct()) > 1)
        .subquery("several")
    )
    query = (
        select(content.label("content"), Submission.id, Submission.ref, Team.name.label("team"))
        .add_columns(Submission.status, Submission.accepted_at)
        .join(several, several.c.content == content)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == team_id)
        .where(here)
        .order_by(several.c.newest.desc(), Submission.ref)
        .limit(most)
    )
    rows = session.execute(query).all()
    return [list(group) for _, group in groupby(rows, key=lambda row: row.content)]
