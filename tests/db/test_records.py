"""What is history stays as it was, even for the service itself."""

from datetime import datetime

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from scorer import audit
from scorer.db.tables import AuditEntry
from tests.factories import make_account


def test_an_act_is_written_down_whole(session: Session, now: datetime) -> None:
    actor = make_account(session, now, "organizer")
    audit.record(session, "threshold.chosen", "track:1", actor=actor, now=now, before={"tau": 0.1}, after={"tau": 0.2})
    session.flush()
    session.expire_all()
    (row,) = session.query(AuditEntry).all()
    assert (row.actor_id, row.created_at, row.action, row.subject) == (actor.id, now, "threshold.chosen", "track:1")
    assert (row.before, row.after, row.address) == ({"tau": 0.1}, {"tau": 0.2}, None)


@pytest.mark.parametrize(
    "table", ["audit_entries", "data_files", "memberships", "rules_acceptances", "team_merges", "team_renamings"]
)
@pytest.mark.parametrize("change", ["UPDATE {} SET created_at = now()", "DELETE FROM {}", "TRUNCATE {}"])
def test_the_service_can_neither_change_nor_delete_it(session: Session, table: str, change: str) -> None:
    assert session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0
    with pytest.raises(ProgrammingError, match="permission denied"):
        session.execute(text(change.format(table)))
