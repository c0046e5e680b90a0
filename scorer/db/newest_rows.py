"""The newest rows of many owners by one statement: an index scan for each owner, however many rows there are."""

from collections.abc import Collection

from sqlalchemy import BigInteger, Select, func, literal, select, true
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import InstrumentedAttribute


def newest_ids(owner: InstrumentedAttribute[int], ids: Collection[int], limit: int) -> Select[int]:
    """The ids of the newest rows, at most ``limit``, of each of the values ``ids`` of the column ``owner``."""
    table = owner.class_
    owners = select(func.unnest(literal(list(ids), ARRAY(BigInteger))).label("id")).subquery("owners")
    newest = select(table.id).where(owner == owners.c.id).order_by(table.id.desc()).limit(limit).lateral("newest")
    return select(newest.c.id).select_from(owners.join(newest, true()))
