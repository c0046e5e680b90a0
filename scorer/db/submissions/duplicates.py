"""SQL for duplicate submissions: equal files and equal images, of one or several teams."""

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import groupby
from typing import Literal, NamedTuple

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import Submission, Team
from scorer.db.teams import merges
from scorer.lifecycle import UNCHARGED


class Duplicate(NamedTuple):
    """Another entry with the same zip (``same_zip``) or the same images as the entry ``of``.

    ``team`` is its team after merges. ``own``: whether it is also the team of the entry ``of``.
    """

    of: int
    id: str
    ref: int
    team: str
    own: bool
    same_zip: bool
    accepted_at: datetime
    of_accepted_at: datetime


def load_duplicates(session: Session, refs: Collection[int]) -> list[Duplicate]:
    """Other entries of the competition with the same zip or the same images as these entries, oldest first."""
    of = aliased(Submission)
    team_id, merged = merges.team_now(Submission.team_id)
    entry_team_id, entry_merges = merges.team_now(of.team_id, "merged_of")
    own = team_id == entry_team_id
    same_zip = func.coalesce(Submission.sha256 == of.sha256, False)
    same_content = or_(Submission.sha256 == of.sha256, Submission.pixels_sha256 == of.pixels_sha256)
    query = (
        select(of.ref.label("of"), Submission.id, Submission.ref, Team.name, own, same_zip, Submission.accepted_at)
        .add_columns(of.accepted_at)
        .select_from(of)
        .join(Submission, (Submission.competition_id == of.competition_id) & (Submission.ref != of.ref) & same_content)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .outerjoin(entry_merges, entry_merges.c.team_id == of.team_id)
        .join(Team, Team.id == team_id)
        .where(of.ref.in_(refs))
    )
    return [Duplicate(*row) for row in session.execute(query.order_by(of.ref, Submission.ref))]


def load_same_file(session: Session, team_id: int, sha256: str) -> Sequence[Submission]:
    """A team's entries with this file that are scored or may still be, oldest first."""
    counts = Submission.status.not_in(UNCHARGED)
    query = select(Submission).where(Submission.sha256 == sha256, merges.belongs_to_team(team_id), counts)
    return session.scalars(query.order_by(Submission.ref)).all()


class SharedEntry(NamedTuple):
    """An entry with content (a hash) that another team has also submitted. ``team`` is its team after merges."""

    content: str
    id: str
    ref: int
    team: str
    status: str
    accepted_at: datetime


def shared_contents(
    session: Session, competition_id: int, column: Literal["sha256", "pixels_sha256"], *, limit: int
) -> list[list[SharedEntry]]:
    """Groups of entries of different teams (after merges) with equal contents, at most ``limit`` entries. Newest group
    first, with the oldest entry first in each."""
    content = getattr(Submission, column)
    team_id, merged = merges.team_now(Submission.team_id)
    has_content = (Submission.competition_id == competition_id) & content.is_not(None)
    several = (
        select(content.label("content"), func.max(Submission.ref).label("newest"))
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .where(has_content)
        .group_by(content)
        .having(func.count(team_id.distinct()) > 1)
        .subquery("several")
    )
    columns = content, Submission.id, Submission.ref, Team.name, Submission.status, Submission.accepted_at
    query = (
        merges.with_team(select(*columns))
        .join(several, several.c.content == content)
        .where(has_content)
        .order_by(several.c.newest.desc(), Submission.ref)
        .limit(limit)
    )
    rows = [SharedEntry(*row) for row in session.execute(query)]
    return [list(group) for _, group in groupby(rows, key=lambda row: row.content)]
