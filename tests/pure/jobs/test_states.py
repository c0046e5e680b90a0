"""Enumerations of the code have the values that the database accepts."""

import re
from enum import StrEnum

import pytest
from sqlalchemy import CheckConstraint

from scorer.db.tables import Delivery, Job, Mail, Submission, Table
from scorer.lifecycle import DeliveryState, JobState, MailState, Queue, Status


def taken(table: type[Table], column: str) -> set[str]:
    """The values that the table's check constraint allows in a column."""
    for constraint in table.metadata.tables[table.__tablename__].constraints:
        if isinstance(constraint, CheckConstraint) and str(constraint.sqltext).startswith(f"{column} IN ("):
            return set(re.findall(r"'(\w+)'", str(constraint.sqltext)))
    raise AssertionError(f"{table.__tablename__}.{column} allows any value")


@pytest.mark.parametrize(
    ("table", "column", "words"),
    [
        (Submission, "status", Status),
        (Job, "state", JobState),
        (Job, "queue", Queue),
        (Delivery, "state", DeliveryState),
        (Mail, "state", MailState),
    ],
)
def test_an_enumeration_has_the_values_that_the_column_allows(
    table: type[Table], column: str, words: type[StrEnum]
) -> None:
    assert set(words) == taken(table, column)
