"""Append-only tables: even the service's own role cannot change history."""

from datetime import datetime

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.db.tables import AuditEntry, Table
from tests.factories import make_account

HISTORY = [table.name for table in Table.metadata.sorted_tables if table.info.get("append_only")]
HISTORIES = (
    "audit_entries", "data_files", "generators", "labels", "measurements", "memberships", "pick_sets", "publications",
    "rating_items", "ratings", "rebuttal_answers", "rebuttals", "recoveries", "release_acts", "reviews", "rulings",
    "thresholds",
)  # fmt: skip


def test_an_action_is_recorded_completely(session: Session, now: datetime) -> None:
    actor = make_account(session, now, "organizer")
    audit_log.record_action(
        Acting(session, actor, now), "threshold.chosen", "track:1", before={"tau": 0.1}, after={"tau": 0.2}
    )
    session.flush()
    session.expire_all()
    (row,) = session.query(AuditEntry).all()
    assert (row.actor_id, row.created_at, row.action, row.subject) == (actor.id, now, "threshold.chosen", "track:1")
    assert (row.before, row.after, row.address) == ({"tau": 0.1}, {"tau": 0.2}, None)


def test_history_tables_are_append_only() -> None:
    assert set(HISTORIES) <= set(HISTORY)


@pytest.mark.parametrize("act", ["UPDATE {} SET {} = {}", "DELETE FROM {}", "TRUNCATE {}", "DROP TABLE {}"])
def test_no_row_of_history_can_be_changed_or_removed(engine: Engine, act: str) -> None:
    for table in Table.metadata.sorted_tables:
        if not table.info.get("append_only"):
            continue
        column = list(table.columns)[-1].name
        with engine.connect() as connection, pytest.raises(ProgrammingError, match=r"permission denied|must be owner"):
            connection.execute(text(act.format(table.name, column, column)))


@pytest.mark.parametrize("act", ["DELETE FROM {}", "TRUNCATE {}"])
def test_only_rows_of_expiring_tables_can_be_removed(engine: Engine, act: str) -> None:
    for table in Table.metadata.sorted_tables:
        if table.info.get("expiring"):
            continue
        with engine.connect() as connection, pytest.raises(ProgrammingError, match="permission denied"):
            connection.execute(text(act.format(table.name)))
