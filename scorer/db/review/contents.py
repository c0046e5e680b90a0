"""SQL for what zips contain, as columns: hashes by which equal zips and equal images are found."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, any_, func, or_, select, union
from sqlalchemy.orm import InstrumentedAttribute, Session

from scorer.db.leaderboard.binary_copy import compiled, read_columns
from scorer.db.leaderboard.scores import id_list
from scorer.db.tables import Submission
from scorer.lifecycle import Status
from scorer.ranking.columns import Flags, Ints

UNCHECKED = (Status.RECEIVED, Status.CHECKING, Status.FAILED)
"""States of a submission whose images may still be hashed; one that failed may be checked again."""
KINDS = {
    "ref": "int",
    "team": "int",
    "zip_hash": "int",
    "has_zip": "bool",
    "pixel_hash": "int",
    "has_pixels": "bool",
    "unchecked": "bool",
}


class ContentRows(NamedTuple):
    """Submissions of a competition, whatever their state, one row each; hashes are 64 bits of the SHA-256."""

    ref: Ints
    team: Ints
    """The submitting team, before any merges."""
    zip_hash: Ints
    has_zip: Flags
    """False for imported submissions."""
    pixel_hash: Ints
    has_pixels: Flags
    """False until the images are checked."""
    unchecked: Flags
    """Whether the images may still be hashed."""


def content_rows(
    connection: Connection, competition_id: int, *, above: int | None = None, refs: Collection[int] = ()
) -> ContentRows:
    """All submissions of a competition; with ``above``, those with a higher ref and those of ``refs``."""
    query = select(
        Submission.ref,
        Submission.team_id,
        _hash_of(Submission.sha256),
        Submission.sha256.is_not(None),
        _hash_of(Submission.pixels_sha256),
        Submission.pixels_sha256.is_not(None),
        Submission.status.in_(UNCHECKED),
    ).where(Submission.competition_id == competition_id)
    if above is not None:
        query = query.where(or_(Submission.ref > above, Submission.ref == any_(id_list(refs))))
    return ContentRows(**read_columns(connection, compiled(query), KINDS))


def _hash_of(column: InstrumentedAttribute[str | None]) -> ColumnElement[int]:
    return func.coalesce(func.hashtextextended(column, 0), 0)


def with_duplicates(session: Session, competition_id: int, refs: Sequence[int]) -> Sequence[int]:
    """The refs of entries and of all others of the competition with the same zip or the same images: whatever decides
    whether those are flagged."""
    of = select(Submission.sha256, Submission.pixels_sha256).where(Submission.ref == any_(id_list(refs))).subquery("of")
    # One look-up each: a single one with OR would read all submissions, as no index has both columns.
    same = [
        select(Submission.ref)
        .join(of, getattr(of.c, name) == getattr(Submission, name))
        .where(Submission.competition_id == competition_id)
        for name in ("sha256", "pixels_sha256")
    ]
    return session.scalars(union(select(Submission.ref).where(Submission.ref == any_(id_list(refs))), *same)).all()
