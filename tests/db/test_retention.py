"""Retention: only expired rows are removed."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from scorer.db import retention
from scorer.db.tables import (
    Delivery,
    KnownDevice,
    Mail,
    OneTimeLink,
    SecondFactor,
    Table,
    Upload,
    Webhook,
    WebSession,
    WorkerReport,
)
from tests.factories import make_account, make_competition

PASSING = {WebSession, SecondFactor, KnownDevice, OneTimeLink, Mail, Delivery, Webhook, Upload, WorkerReport}
DAY = timedelta(days=1)


def removed(session: Session, moment: datetime, limit: int = 100) -> dict[str, int]:
    """Remove expired rows and return their number by table."""
    session.flush()
    over = retention.expired_before(moment)
    return {table.__tablename__: retention.remove(session, table, which, limit=limit) for table, which in over.items()}


def add(session: Session, table: type[Table], **values: Any) -> Any:
    row = table(**values)
    session.add(row)
    session.flush()
    return row


def test_expired_sessions_and_links_are_removed(session: Session, now: datetime) -> None:
    person = make_account(session, now)
    expected = []
    for table, end, extra in (
        (WebSession, "ended_at", {"address": "", "agent": "", "last_seen_at": now}),
        (OneTimeLink, "used_at", {"purpose": "reset"}),
    ):
        for number, (ended, expires) in enumerate(
            [(now - DAY, now + DAY), (None, now - DAY), (None, now + DAY), (now + DAY, now + 2 * DAY)]
        ):
            values = {"account_id": person.id, "created_at": now, "expires_at": expires, end: ended, **extra}
            row = add(session, table, digest=bytes([number]), **values)
            expected += [row] if number > 1 else []
    counts = removed(session, now)
    assert (counts["web_sessions"], counts["one_time_links"]) == (2, 2)
    left = [*session.scalars(select(WebSession)), *session.scalars(select(OneTimeLink))]
    assert left == expected


def test_finished_mails_and_deliveries_are_removed(session: Session, now: datetime) -> None:
    person = make_account(session, now)
    hooks = [
        add(session, Webhook, account_id=person.id, url=str(n), secret="", created_at=now, ended_at=ended)
        for n, ended in enumerate((None, now - DAY, now - DAY))
    ]
    fields = {"subject": "", "body": "", "attempts": 1, "created_at": now - 9 * DAY}
    mails = ("waiting", "sending", "sent", "failed", "unknown", "expired")
    sent = ("waiting", "sending", "sent", "failed")
    for state in mails:
        add(session, Mail, recipient="a@x.org", state=state, due_at=now - DAY, **fields)
    for state in sent:
        add(session, Delivery, webhook_id=hooks[0].id, kind="ping", link="", state=state, due_at=now - DAY, **fields)
    add(session, Mail, recipient="a@x.org", state="sent", due_at=now + DAY, **fields)
    add(session, Delivery, webhook_id=hooks[1].id, kind="ping", link="", state="sent", due_at=now + DAY, **fields)
    counts = removed(session, now)
    assert (counts["mails"], counts["deliveries"], counts["webhooks"]) == (4, 2, 1)
    assert sorted(mail.state for mail in session.scalars(select(Mail))) == ["sending", "sent", "waiting"]
    assert list(session.scalars(select(Webhook).order_by(Webhook.id))) == hooks[:2], (
        "a webhook with remaining deliveries stays"
    )


def test_closed_uploads_without_bytes_are_removed(session: Session, now: datetime) -> None:
    person = make_account(session, now)
    state = make_competition(session, now)
    shared = {
        "competition_id": state.competition.id, "account_id": person.id, "method": "tus", "file_name": "", "note": "",
        "described": "", "length": 1, "received": 0, "begun_at": now,
    }  # fmt: skip
    add(session, Upload, id="gone", state="ended", parts=[], expires_at=now - DAY, idempotency_key="k", **shared)
    add(session, Upload, id="bytes", state="ended", parts=["uploads/part"], expires_at=now - DAY, **shared)
    add(session, Upload, id="under way", state="receiving", parts=[], expires_at=now - DAY, **shared)
    add(session, Upload, id="new", state="ended", parts=[], expires_at=now + DAY, **shared)
    assert removed(session, now)["uploads"] == 1
    assert set(session.scalars(select(Upload.id))) == {"bytes", "under way", "new"}


def test_a_round_removes_at_most_its_limit(session: Session, now: datetime) -> None:
    for _ in range(5):
        values = {"subject": "", "body": "", "attempts": 1, "created_at": now - DAY, "due_at": now - DAY}
        add(session, Mail, recipient="a@x.org", state="sent", **values)
    assert [removed(session, now, 2)["mails"] for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.parametrize("table", [table.name for table in Table.metadata.sorted_tables])
def test_the_service_may_delete_from_no_other_table(session: Session, table: str) -> None:
    deletable = session.scalar(text("SELECT has_table_privilege(:table, 'DELETE')").bindparams(table=table))
    assert deletable == (table in {passing.__tablename__ for passing in PASSING})
    if not deletable:
        with pytest.raises(ProgrammingError, match="permission denied"):
            session.execute(text(f"DELETE FROM {table}"))
