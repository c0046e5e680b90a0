"""SQL for the bytes that zips and generators take in the store, and that uploads under way have announced."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from scorer.db.tables import GeneratorFile, Submission, Team, Upload
from scorer.db.teams import merges


class StorageUsage(NamedTuple):
    """Bytes of zips and generators that are stored, and the whole lengths of uploads that are not closed."""

    stored: int
    staged: int

    @property
    def total(self) -> int:
        """Both together."""
        return self.stored + self.staged


def usage_of_team(
    session: Session, competition_id: int, team_id: int | None, member_ids: Collection[int]
) -> StorageUsage:
    """What a team takes in a competition, with the teams merged into it; None: a person who has no team yet."""
    submitted = merges.belongs_to_team(team_id) if team_id is not None else Submission.ref.is_(None)
    return _usage(session, submitted, (Upload.competition_id == competition_id) & Upload.account_id.in_(member_ids))


def usage_of_competition(session: Session, competition_id: int) -> StorageUsage:
    """What all teams and benchmarks take in a competition."""
    return _usage(session, Submission.competition_id == competition_id, Upload.competition_id == competition_id)


def _usage(session: Session, submitted: ColumnElement[bool], uploaded: ColumnElement[bool]) -> StorageUsage:
    stored = select(func.coalesce(func.sum(Submission.bytes), 0)).where(submitted, Submission.blob_key.is_not(None))
    generators = select(func.coalesce(func.sum(GeneratorFile.bytes), 0)).join(
        Submission, Submission.ref == GeneratorFile.submission_ref
    )
    staged = select(func.coalesce(func.sum(Upload.length), 0)).where(uploaded, Upload.state == "receiving")
    sums = (stored, generators.where(submitted), staged)
    zips, files, lengths = session.execute(select(*(each.scalar_subquery() for each in sums))).one()
    return StorageUsage(int(zips) + int(files), int(lengths))


def largest_teams(session: Session, competition_id: int, limit: int) -> Sequence[tuple[str, int]]:
    """The teams whose stored zips take most, with their bytes; merged teams count for the one that they belong to."""
    merged = merges.newest_merges()
    team_id = func.coalesce(merged.c.into_team_id, Submission.team_id)
    total = func.sum(Submission.bytes)
    query = select(Team.name, total).select_from(Submission)
    query = query.outerjoin(merged, merged.c.team_id == Submission.team_id).join(Team, Team.id == team_id)
    query = query.where(Submission.competition_id == competition_id, Submission.blob_key.is_not(None))
    query = query.group_by(Team.id, Team.name).order_by(total.desc(), Team.id).limit(limit)
    return [(name, int(count)) for name, count in session.execute(query)]
