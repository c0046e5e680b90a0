"""Data files in SQL."""

from collections.abc import Collection, Sequence

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import CompetitionReference, DataFile, ReferenceSet


def offered(session: Session, competition_id: int) -> Sequence[DataFile]:
    """The files that a competition offers, by name."""
    newest = (
        select(DataFile.id, DataFile.offered)
        .ext(distinct_on(DataFile.name))
        .where(DataFile.competition_id == competition_id)
        .order_by(DataFile.name, DataFile.id.desc())
        .subquery("newest")
    )
    query = select(DataFile).join(newest, newest.c.id == DataFile.id).where(newest.c.offered)
    return session.scalars(query.order_by(DataFile.name)).all()


def newest(session: Session, competition_id: int, name: str) -> DataFile | None:
    """What was last said about a file of a competition."""
    query = select(DataFile).where(DataFile.competition_id == competition_id, DataFile.name == name)
    return session.scalars(query.order_by(DataFile.id.desc()).limit(1)).one_or_none()


def is_offered(session: Session, sha256: str) -> bool:
    """Whether any competition offers these bytes."""
    later = aliased(DataFile)
    replaced = select(later.id).where(
        later.competition_id == DataFile.competition_id, later.name == DataFile.name, later.id > DataFile.id
    )
    query = select(func.count()).where(DataFile.sha256 == sha256, DataFile.offered, ~replaced.exists())
    return bool(session.scalar(query))


def is_reference(session: Session, sha256: str, roles: Collection[str]) -> bool:
    """Whether these bytes play one of ``roles`` in any competition."""
    attached = (
        select(func.count())
        .select_from(CompetitionReference)
        .join(ReferenceSet, ReferenceSet.id == CompetitionReference.reference_set_id)
    )
    return bool(session.scalar(attached.where(ReferenceSet.sha256 == sha256, CompetitionReference.role.in_(roles))))
