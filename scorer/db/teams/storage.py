"""SQL for the bytes that zips, generators and code take in the store, and that uploads under way have announced."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, func, select, union_all
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import CodeAttachment, GeneratorFile, Submission, Team, Upload
from scorer.db.teams import merges

IS_WRITABLE = (Upload.method == "put") & Upload.state.in_(("refused", "ended"))
"""Closed uploads to whose presigned address bytes can be sent until it expires, as often as somebody likes."""


class StorageUsage(NamedTuple):
    """Bytes of zips, generators and code that are stored, and the whole lengths of uploads that are not closed, or
    whose presigned address takes bytes all the same."""

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
    length = select(func.coalesce(func.sum(Upload.length), 0)).where(uploaded)
    receiving = Upload.state == "receiving"
    staged = (length.where(receiving), length.where(IS_WRITABLE, ~receiving, Upload.parts != []))
    sums = [_sum(files.where(submitted)) for files in _stored_files()]
    *stored, open_, closed = session.execute(select(*(each.scalar_subquery() for each in (*sums, *staged)))).one()
    return StorageUsage(sum(map(int, stored)), int(open_ + closed))


def _sum(files: Select[int, int]) -> Select[int]:
    return files.with_only_columns(func.coalesce(func.sum(files.selected_columns.bytes), 0))


def _stored_files() -> Sequence[Select[int, int]]:
    """The team that submitted an entry and the bytes of each file of it that is stored: its zip, each generator, and
    its newest code, which replaces what was attached before."""
    later = aliased(CodeAttachment)
    replaced = select(later.id).where(
        later.submission_ref == CodeAttachment.submission_ref, later.id > CodeAttachment.id
    )
    generators = select(Submission.team_id, GeneratorFile.bytes).select_from(GeneratorFile)
    code = select(Submission.team_id, CodeAttachment.bytes).select_from(CodeAttachment)
    return (
        select(Submission.team_id, Submission.bytes).where(Submission.blob_key.is_not(None)),
        generators.join(Submission, Submission.ref == GeneratorFile.submission_ref),
        code.join(Submission, Submission.ref == CodeAttachment.submission_ref).where(~replaced.exists()),
    )


def largest_teams(session: Session, competition_id: int, limit: int) -> Sequence[tuple[str, int]]:
    """The teams whose stored files take most, with their bytes; merged teams count for the one that they belong to."""
    merged = merges.newest_merges()
    of_competition = (files.where(Submission.competition_id == competition_id) for files in _stored_files())
    stored = union_all(*of_competition).subquery("stored")
    total = func.sum(stored.c.bytes)
    query = select(Team.name, total).select_from(stored).outerjoin(merged, merged.c.team_id == stored.c.team_id)
    query = query.join(Team, Team.id == func.coalesce(merged.c.into_team_id, stored.c.team_id))
    query = query.group_by(Team.id, Team.name).order_by(total.desc(), Team.id).limit(limit)
    return [(name, int(count)) for name, count in session.execute(query)]
