"""SQL for duplicate submissions: equal zips and equal images, of one or several teams."""

from datetime import datetime
from itertools import groupby
from typing import Literal, NamedTuple

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from scorer.db.tables import Submission, Team
from scorer.db.teams import merges


class Duplicate(NamedTuple):
    """Another entry with the same zip (``same_zip``) or the same images; ``team`` is its team after merges."""

    id: str
    ref: int
    team: str
    same_zip: bool


def duplicates_of(session: Session, submission: Submission) -> list[Duplicate]:
    """Other entries of the competition with the same zip or the same images, oldest first."""
    merged = merges.newest_merges()
    same_zip = Submission.sha256 == submission.sha256
    same_content = (
        or_(same_zip, Submission.pixels_sha256 == submission.pixels_sha256) if submission.pixels_sha256 else same_zip
    )
    query = (
        select(Submission.id, Submission.ref, Team.name, same_zip)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .join(Team, Team.id == func.coalesce(merged.c.into_team_id, Submission.team_id))
        .where(Submission.competition_id == submission.competition_id, Submission.ref != submission.ref, same_content)
    )
    return [Duplicate(*row) for row in session.execute(query.order_by(Submission.ref))]


class SharedEntry(NamedTuple):
    """An entry whose content (a hash) another team has submitted, too; ``team`` is its team after merges."""

    content: str
    id: str
    ref: int
    team: str
    status: str
    accepted_at: datetime


def shared_contents(
    session: Session, competition_id: int, column: Literal["sha256", "pixels_sha256"], *, limit: int
) -> list[list[SharedEntry]]:
    """Groups of entries of different teams (after merges) with equal contents, newest group first, in each the oldest
    entry first; at most ``limit`` entries."""
    content = getattr(Submission, column)
    merged = merges.newest_merges()
    team_id = func.coalesce(merged.c.into_team_id, Submission.team_id)
    has_content = (Submission.competition_id == competition_id) & content.is_not(None)
    several = (
        select(content.label("content"), func.max(Submission.ref).label("newest"))
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .where(has_content)
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
        .where(has_content)
        .order_by(several.c.newest.desc(), Submission.ref)
        .limit(limit)
    )
    rows = [SharedEntry(*row) for row in session.execute(query)]
    return [list(group) for _, group in groupby(rows, key=lambda row: row.content)]
