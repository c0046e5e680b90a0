"""SQL for the bytes that zips, generators and code use in the store, and that open uploads have reserved."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, func, select, union_all
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import CodeAttachment, Draw, GeneratorFile, Submission, Team, Upload
from scorer.db.teams import members, merges

IS_WRITABLE = (Upload.method == "put") & Upload.state.in_(("refused", "ended"))
"""Closed uploads with a presigned address that still accepts bytes, any number of times, until it expires."""


QUOTA_LOCK = 0x6B6E6E71
"""The first key of the two-key advisory lock that guards the bytes of a competition."""


class StorageUsage(NamedTuple):
    """Bytes of stored zips, generators and code, and bytes that uploads have reserved. These uploads are open, or have
    a presigned address that still accepts bytes."""

    stored: int
    staged: int

    @property
    def total(self) -> int:
        return self.stored + self.staged


def lock_quota(session: Session, competition_id: int) -> None:
    """Let only one transaction at a time use bytes of a competition's quota."""
    session.execute(select(func.pg_advisory_xact_lock(QUOTA_LOCK, competition_id), func.pg_current_xact_id()))


def load_team_usage(
    session: Session, competition_id: int, team_id: int | None, *, account_id: int, now: datetime
) -> StorageUsage:
    """The bytes that a team, with teams merged into it, uses in a competition; None: the account has no team yet."""
    submitted = merges.belongs_to_team(team_id) if team_id is not None else Submission.ref.is_(None)
    people = members.member_ids(team_id) if team_id is not None else [account_id]
    uploaded = (Upload.competition_id == competition_id) & Upload.account_id.in_(people)
    return _usage(session, submitted, uploaded, now=now)


def load_competition_usage(session: Session, competition_id: int, now: datetime) -> StorageUsage:
    """The bytes that all teams use, and those of drawn images, which count for no team."""
    submitted = Submission.competition_id == competition_id
    used = _usage(session, submitted, Upload.competition_id == competition_id, now=now)
    draws = select(func.sum(Draw.bytes)).join(Submission, Submission.ref == Draw.submission_ref)
    drawn = session.scalar(draws.where(submitted, Draw.blob_key.is_not(None))) or 0
    return used._replace(stored=used.stored + int(drawn))


def _usage(
    session: Session, submitted: ColumnElement[bool], uploaded: ColumnElement[bool], *, now: datetime
) -> StorageUsage:
    reserved = func.coalesce(Upload.reserved, Upload.length)
    length = select(func.coalesce(func.sum(reserved), 0)).where(uploaded)
    receiving = Upload.state == "receiving"
    counts = Upload.reserved_until.is_(None) | (Upload.reserved_until > now)
    staged = (length.where(receiving, counts), length.where(IS_WRITABLE, ~receiving, Upload.parts != []))
    sums = [_sum(files.where(submitted)) for files in _stored_files()]
    *stored, open_, closed = session.execute(select(*(query.scalar_subquery() for query in (*sums, *staged)))).one()
    return StorageUsage(sum(map(int, stored)), int(open_ + closed))


def _sum(files: Select[int, int]) -> Select[int]:
    return files.with_only_columns(func.coalesce(func.sum(files.selected_columns.bytes), 0))


def _stored_files() -> Sequence[Select[int, int]]:
    """The team that submitted an entry, and the bytes of each of its stored files: the zip or generator, each
    generator uploaded for an audit, and the newest code, which replaces earlier code."""
    later = aliased(CodeAttachment)
    replaced = select(later.id).where(
        later.submission_ref == CodeAttachment.submission_ref, later.id > CodeAttachment.id
    )
    generators = select(Submission.team_id, GeneratorFile.bytes).select_from(GeneratorFile)
    code = select(Submission.team_id, CodeAttachment.bytes).select_from(CodeAttachment)
    return (
        select(Submission.team_id, Submission.bytes).where(Submission.blob_key.is_not(None)),
        generators.join(Submission, Submission.ref == GeneratorFile.submission_ref).where(
            GeneratorFile.blob_key.is_not(None)
        ),
        code.join(Submission, Submission.ref == CodeAttachment.submission_ref).where(~replaced.exists()),
    )


def largest_teams(session: Session, competition_id: int, limit: int) -> Sequence[tuple[str, int]]:
    """The teams with the largest stored files, and their bytes. Merged teams count for the team they belong to."""
    merged = merges.newest_merges()
    of_competition = (files.where(Submission.competition_id == competition_id) for files in _stored_files())
    stored = union_all(*of_competition).subquery("stored")
    total = func.sum(stored.c.bytes)
    query = select(Team.name, total).select_from(stored).outerjoin(merged, merged.c.team_id == stored.c.team_id)
    query = query.join(Team, Team.id == func.coalesce(merged.c.into_team_id, stored.c.team_id))
    query = query.group_by(Team.id, Team.name).order_by(total.desc(), Team.id).limit(limit)
    return [(name, int(count)) for name, count in session.execute(query)]
