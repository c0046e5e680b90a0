"""The outbox, delivered to a real SMTP server."""

import threading
from dataclasses import replace
from datetime import timedelta
from email import message_from_bytes
from email.policy import default

import pytest
from pydantic import SecretStr

from scorer.db.tables import Mail
from scorer.lifecycle import MailState
from scorer.notifications import outbox
from tests.api.accounts.grace import confirm, link_in, sign_up
from tests.api.conftest import Service
from tests.api.notifications.conftest import Server
from worker.delivery.mail import send_due_mails
from worker.runtime.context import WorkerContext


def queued_mails(service: Service) -> list[Mail]:
    """Return all mails, oldest first."""
    with service.context.sessions() as session:
        return session.query(Mail).order_by(Mail.id).all()


def later(context: WorkerContext, **wait: float) -> WorkerContext:
    """Return the same worker at a later time."""
    moment = context.now() + timedelta(**wait)
    return replace(context, now=lambda: moment)


def test_a_mail_arrives_once_and_its_link_works(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    assert send_due_mails(context) == 1
    assert send_due_mails(context) == 0
    (envelope,) = server[0].taken
    content = envelope.content.decode() if isinstance(envelope.content, bytes) else ""
    assert envelope.rcpt_tos == ["grace@example.org"]
    assert "To: grace@example.org" in content
    assert "Auto-Submitted: auto-generated" in content
    (mail,) = queued_mails(service)
    assert (mail.state, mail.body) == ("sent", ""), "the sent mail's secret is deleted"
    link = link_in(Mail(body=content.replace("=\r\n", "")))
    assert confirm(service, link).status_code == 204


def test_a_subject_with_a_line_break_does_not_block_mails(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    now = context.now()
    with service.context.sessions.begin() as session:
        for subject in ("evil\r\nBcc: all@example.org was rejected", "after it"):
            outbox.queue_mail(session, "grace@example.org", subject, body="Hello", now=now)
    assert send_due_mails(context) == 2
    subjects = [
        message_from_bytes(envelope.content)["Subject"]
        for envelope in server[0].taken
        if isinstance(envelope.content, bytes)
    ]
    assert subjects == ["evil Bcc: all@example.org was rejected", "after it"]
    assert [envelope.rcpt_tos for envelope in server[0].taken] == [["grace@example.org"]] * 2


def test_parallel_workers_send_no_mail_twice(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    with service.context.sessions.begin() as session:
        for number in range(30):
            outbox.queue_mail(session, f"n{number}@example.org", "Hello", body="Hello.", now=context.now())
    threads = [threading.Thread(target=send_due_mails, args=[context]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(envelope.rcpt_tos[0] for envelope in server[0].taken) == sorted(
        f"n{number}@example.org" for number in range(30)
    )


def test_a_temporary_refusal_is_retried_later(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    server[0].answer = "451 come back"
    assert send_due_mails(context) == 0
    assert (queued_mails(service)[0].state, queued_mails(service)[0].error) == ("waiting", "451 come back")
    server[0].answer = "250 OK"
    assert send_due_mails(context) == 0, "the mail is not due yet"
    assert send_due_mails(later(context, minutes=2)) == 1


def test_a_permanent_refusal_ends_the_attempts(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    server[0].answer = "550 nobody here"
    assert send_due_mails(context) == 0
    assert (queued_mails(service)[0].state, queued_mails(service)[0].error) == ("failed", "550 nobody here")
    assert send_due_mails(later(context, days=1)) == 0


def test_a_connection_lost_after_the_mail_is_not_retried(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    server[0].hang_up = "DATA"
    assert send_due_mails(context) == 0
    assert len(server[0].taken) == 1
    assert queued_mails(service)[0].state == "unknown"
    server[0].hang_up = ""
    assert send_due_mails(later(context, days=1)) == 0
    assert len(server[0].taken) == 1


def test_a_lost_worker_causes_no_second_mail(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    with service.context.sessions.begin() as session:
        assert outbox.claim_mail(session, context.now()) is not None
    assert send_due_mails(context) == 0
    assert send_due_mails(later(context, hours=1)) == 0
    assert (queued_mails(service)[0].state, server[0].taken) == ("unknown", [])


def test_without_a_mail_server_mails_wait_until_they_expire(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    absent = replace(
        context, settings=context.settings.model_copy(update={"smtp_url": SecretStr("smtp://127.0.0.1:1")})
    )
    assert send_due_mails(absent) == 0
    (mail,) = queued_mails(service)
    assert (mail.state, mail.attempts) == ("waiting", 0)
    assert mail.error
    unset = replace(context, settings=service.context.settings)
    assert send_due_mails(unset) == 0
    assert queued_mails(service)[0].state == "waiting"
    assert send_due_mails(later(unset, days=4)) == 0
    assert (queued_mails(service)[0].state, queued_mails(service)[0].body) == ("expired", "")
    assert send_due_mails(later(context, days=4)) == 0
    assert server[0].taken == []


def test_a_temporarily_refused_mail_is_retried_for_four_days(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    with service.context.sessions.begin() as session:
        mail = outbox.queue_mail(session, "a@example.org", "Hello", body="Hello.", now=context.now())
        waits = []
        for mail.attempts in range(1, outbox.MAX_ATTEMPTS + 1):
            mail.state, before = MailState.SENDING, mail.due_at
            session.flush()
            outbox.record_refusal(session, mail, error="451 come back", now=before, permanent=False)
            session.refresh(mail)
            waits.append((mail.due_at - before).total_seconds() / 60)
    assert waits[:8] == [1, 2, 4, 8, 16, 32, 60, 60]
    assert sum(waits) > 4 * 24 * 60 - 240
    assert (mail.state, mail.attempts) == ("failed", outbox.MAX_ATTEMPTS)


@pytest.mark.parametrize("fault", ["530 5.7.0 Authentication required", "550 no such sender", "RCPT", "refused"])
def test_a_server_that_accepts_no_mail_causes_no_loss(
    service: Service, context: WorkerContext, server: tuple[Server, str], fault: str
) -> None:
    """The fault lasts for more deliveries than a mail has attempts."""
    with service.context.sessions.begin() as session:
        for number in range(2):
            outbox.queue_mail(session, f"n{number}@example.org", "Hello", body="Hello.", now=context.now())
    handler, _ = server
    if fault == "RCPT":
        handler.hang_up = fault
    elif fault == "refused":
        handler.answer = "530 log in first"
    else:
        handler.sender_answer = fault
    for hour in range(12):
        assert send_due_mails(later(context, hours=hour)) == 0
    assert {(mail.state, mail.attempts) for mail in queued_mails(service)} == {("waiting", 0)}
    with service.context.sessions() as session:
        (reason,) = outbox.list_faults(session, context.now())
    assert (reason.waiting, reason.lost) == (2, 0)
    assert "The mail server cannot be used" in reason.error
    handler.hang_up, handler.answer, handler.sender_answer = "", "250 OK", "250 OK"
    assert send_due_mails(later(context, hours=13)) == 2
    assert sorted(envelope.rcpt_tos for envelope in handler.taken) == [["n0@example.org"], ["n1@example.org"]]


def test_a_refused_recipient_delays_no_other_mail_and_the_admin_sees_it(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    with service.context.sessions.begin() as session:
        for number in range(3):
            outbox.queue_mail(session, f"n{number}@example.org", "Hello", body="Hello.", now=context.now())
    server[0].unknown = "n1@example.org"
    assert send_due_mails(context) == 2
    assert [mail.state for mail in queued_mails(service)] == ["sent", "failed", "sent"]
    with service.context.sessions() as session:
        assert [reason[:3] for reason in outbox.list_faults(session, context.now())] == [("550 no such user", 0, 1)]


def test_names_in_all_scripts_arrive_at_a_server_without_8bitmime(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sender = "Kennel Größe <kennel@example.org>"
    named = replace(context, settings=context.settings.model_copy(update={"mail_from": sender}))
    with service.context.sessions.begin() as session:
        outbox.queue_mail(session, "a@example.org", "Team Łódź 漢字 🐕", body="Größe, 漢字 und 🐕", now=context.now())
    assert send_due_mails(named) == 1
    (envelope,) = server[0].taken
    assert isinstance(envelope.content, bytes)
    assert envelope.content.isascii()
    message = message_from_bytes(envelope.content, policy=default)
    assert (message["From"], message["Subject"]) == (sender, "Team Łódź 漢字 🐕")
    assert message.get_content().strip() == "Größe, 漢字 und 🐕"


def test_a_password_is_not_sent_without_tls(
    service: Service, context: WorkerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scorer.notifications.smtp.LOOPBACK", set())
    url = context.settings.smtp_url
    assert url is not None
    named = url.get_secret_value().replace("smtp://", "smtp://kennel:secret@")
    careful = replace(context, settings=context.settings.model_copy(update={"smtp_url": SecretStr(named)}))
    sign_up(service)
    assert send_due_mails(careful) == 0
    assert "no TLS" in (queued_mails(service)[0].error or "")
