"""SQL for evidence: the newest evidence of entries, and the entries that show signs of copying in it."""

from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    exists,
    func,
    literal,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import Evidence
from scorer.findings.signs import SIGNS

Findings = Sequence[Mapping[str, Any]]


def conditions(images: int) -> dict[str, ColumnElement[bool]]:
    """The condition for each sign, by name, on rows of evidence of entries with this number of images."""
    columns = {column.key: column for column in Evidence.__table__.columns}
    evidence = SimpleNamespace(**columns, images=literal(images))
    return {sign.name: func.coalesce(sign.holds(evidence), False) for sign in SIGNS}


def with_signs(track_id: int, images: int) -> Select[Any]:
    """Every entry with a sign in its newest evidence on a track: ``ref``, and each sign by name."""
    by_name = conditions(images)
    columns: list[Any] = [condition.label(name) for name, condition in by_name.items()]
    signs: Select[Any] = select(Evidence.submission_ref.label("ref"), *columns)
    return signs.where(Evidence.track_id == track_id, or_(*by_name.values()), ~_is_replaced())


def _is_replaced() -> ColumnElement[bool]:
    newer = aliased(Evidence)
    same = (newer.track_id == Evidence.track_id, newer.submission_ref == Evidence.submission_ref)
    return exists().where(*same, newer.id > Evidence.id)


def newest_evidence_id(connection: Connection) -> int:
    return connection.scalar(select(func.max(Evidence.id))) or 0


def newest_findings(
    session: Session, refs: Collection[int], track_ids: Collection[int]
) -> dict[tuple[int, int], Findings]:
    """The findings of the newest evidence of entries on tracks, by ref and track id."""
    newest = (
        select(Evidence.submission_ref, Evidence.track_id, Evidence.findings)
        .ext(distinct_on(Evidence.track_id, Evidence.submission_ref))
        .where(Evidence.submission_ref.in_(refs), Evidence.track_id.in_(track_ids))
        .order_by(Evidence.track_id, Evidence.submission_ref, Evidence.id.desc())
    )
    return {(row.submission_ref, row.track_id): row.findings for row in session.execute(newest)}
