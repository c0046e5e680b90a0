"""What more than one team has handed in, in SQL."""

from datetime import datetime
from itertools import groupby
from typing import Literal, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from scorer.db import merges
from scorer.db.tables import Submission, Team


class SharedEntry(NamedTuple):
    """An entry whose content (a hash) another team has handed in, too; ``team`` is its team after merges."""

    content: str
    id: str
    ref: int
    team: str
    status: str
    accepted_at: datetime


def shared(
    session: Session, competition_id: int, column: Literal["sha256", "pixels_sha256"], *, most: int
) -> list[list[SharedEntry]]:
    """Groups of entries with equal contents from different teams, as the teams are after merges, oldest first. At most
    ``most`` entries, the newest contents."""
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
    rows = [SharedEntry(*row) for row in session.execute(query)]
    return [list(group) for _, group in groupby(rows, key=lambda row: row.content)]
