"""The base class of all tables, and the two kinds of tables with restricted rights.

The service's database role may only add rows to tables marked ``append_only``. It may only delete rows from tables
marked ``expiring`` (:mod:`scorer.db.grants`).
"""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    DateTime,
    Identity,
    MetaData,
    Text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

APPEND_ONLY = {"append_only": True}
EXPIRING = {"expiring": True}
"""Rows are deleted some time after they have ended (:mod:`scorer.db.retention`)."""


class Table(DeclarativeBase):
    """Base of all tables. Column types follow from the annotations; timestamps always have a time zone."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads this class attribute
        str: Text,
        datetime: DateTime(timezone=True),
        dict[str, Any]: JSONB,
        list[dict[str, Any]]: JSONB,
        list[str]: ARRAY(Text),
    }


def identity() -> Mapped[int]:
    return mapped_column(BigInteger, Identity(always=True), primary_key=True)
