"""SQL for the signs of copying: which entries show which sign in their newest evidence, and their findings."""

from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    case,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
)
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from scorer.db.leaderboard.binary_copy import compiled, read_columns
from scorer.db.tables import Evidence
from scorer.findings.signs import SIGNS
from scorer.ranking.columns import Ints

Findings = Sequence[Mapping[str, Any]]


def conditions(images: int) -> dict[str, ColumnElement[bool]]:
    """The condition for each sign, by its name, on rows of evidence of entries with so many images."""
    columns = {column.key: column for column in Evidence.__table__.columns}
    evidence = SimpleNamespace(**columns, images=literal(images))
    return {sign.name: func.coalesce(sign.holds(evidence), False) for sign in SIGNS}


def with_signs(track_id: int, images: int) -> Select[Any]:
    """Every entry whose newest evidence on a track shows a sign: ``ref``, and each sign by its name."""
    condition_of = conditions(images)
    columns: list[Any] = [condition.label(name) for name, condition in condition_of.items()]
    signs: Select[Any] = select(Evidence.submission_ref.label("ref"), *columns)
    return signs.where(Evidence.track_id == track_id, or_(*condition_of.values()), ~_is_replaced())


class SignRows(NamedTuple):
    """Rows of evidence, each with its signs as bits: bit i is the sign ``SIGNS[i]``."""

    id: Ints
    ref: Ints
    track_id: Ints
    bits: Ints


KINDS = dict.fromkeys(SignRows._fields, "int")


def sign_rows(connection: Connection, track_ids: Collection[int], images: int, *, above: int | None = None) -> SignRows:
    """The newest evidence of each entry that shows a sign, of entries with so many images; with ``above``, all
    evidence with a higher id, with signs or without."""
    condition_of = conditions(images)
    bits: ColumnElement[int] = literal_column("0::bigint")
    for number, condition in enumerate(condition_of.values()):
        bits = bits + case((condition, literal_column(f"{1 << number}::bigint")), else_=literal_column("0::bigint"))
    columns = (Evidence.id, Evidence.submission_ref, Evidence.track_id, bits)
    query = select(*columns).where(Evidence.track_id.in_(track_ids))
    if above is not None:
        query = query.where(Evidence.id > above)
    else:
        query = query.where(or_(*condition_of.values()), ~_is_replaced())
    return SignRows(**read_columns(connection, compiled(query), KINDS))


def _is_replaced() -> ColumnElement[bool]:
    newer = aliased(Evidence)
    same = (newer.track_id == Evidence.track_id, newer.submission_ref == Evidence.submission_ref)
    return exists().where(*same, newer.id > Evidence.id)


def newest_evidence_id(connection: Connection) -> int:
    """The highest id of all evidence; 0 before the first."""
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
