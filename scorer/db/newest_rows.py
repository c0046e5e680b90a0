"""Rows by the values of their columns: the only one, or the newest ones. Also the newest rows of many owners in one
statement, with one index scan per owner."""

from collections.abc import Collection, Sequence
from typing import TypeVar

from sqlalchemy import BigInteger, ColumnElement, Select, func, literal, select, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import DeclarativeBase, InstrumentedAttribute, Session

RowT = TypeVar("RowT", bound=DeclarativeBase)


def only_row(session: Session, table: type[RowT], **columns: int | str | bytes) -> RowT | None:
    return session.scalars(select(table).filter_by(**columns)).one_or_none()


def newest_row(
    session: Session, table: type[RowT], *conditions: ColumnElement[bool], **columns: int | str
) -> RowT | None:
    """The newest row that meets the conditions and has these values of columns, which is the row that counts."""
    (key,) = table.__mapper__.primary_key
    query = select(table).where(*conditions).filter_by(**columns)
    return session.scalars(query.order_by(key.desc()).limit(1)).one_or_none()


def newest_rows(
    session: Session,
    table: type[RowT],
    *conditions: ColumnElement[bool],
    before: int | None = None,
    limit: int | None = None,
    **columns: int | None,
) -> Sequence[RowT]:
    """The rows that meet the conditions, have these values of columns and precede the key ``before``, newest first."""
    (key,) = table.__mapper__.primary_key
    query = select(table).where(*conditions).filter_by(**columns)
    if before is not None:
        query = query.where(key < before)
    return session.scalars(query.order_by(key.desc()).limit(limit)).all()


def newest_ids(owner: InstrumentedAttribute[int], ids: Collection[int], limit: int) -> Select[int]:
    """The ids of the newest rows, at most ``limit`` for each of the values ``ids`` of the column ``owner``."""
    table = owner.class_
    owners = select(func.unnest(literal(list(ids), ARRAY(BigInteger))).label("id")).subquery("owners")
    newest = select(table.id).where(owner == owners.c.id).order_by(table.id.desc()).limit(limit).lateral("newest")
    return select(newest.c.id).select_from(owners.join(newest, true()))
