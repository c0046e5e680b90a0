"""The outbox, delivered to a real SMTP server."""

import threading
from asyncio import WriteTransport
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email import message_from_bytes
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope
from aiosmtpd.smtp import Session as Connection
from pydantic import SecretStr

from deploy.standalone.ports import free_port
from scorer.db.tables import Mail
from scorer.notifications import outbox
from tests.api.accounts.test_accounts import confirm, link_in, sign_up
from tests.api.conftest import Service
from worker.delivery.mail import send_due_mails
from worker.runtime.context import WorkerContext


@dataclass
class Server:
    """Takes mails, or refuses them with ``answer``; ``hang_up`` breaks the line once the mail is there."""

    taken: list[Envelope] = field(default_factory=list)
    answer: str = "250 OK"
    hang_up: bool = False

    async def handle_RCPT(self, _: SMTP, __: Connection, envelope: Envelope, address: str, options: Any) -> str:  # noqa: N802
        """Asked for each recipient."""
        if self.answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.answer

    async def handle_DATA(self, server: SMTP, _: Connection, envelope: Envelope) -> str:  # noqa: N802
        """Asked when the mail is there."""
        self.taken.append(envelope)
        if self.hang_up:
            assert isinstance(server.transport, WriteTransport)
            server.transport.abort()
        return "250 OK"


@pytest.fixture
def server() -> Iterator[tuple[Server, str]]:
    """A server on loopback and its address."""
    handler = Server()
    port = free_port()
    controller = Controller(handler, hostname="127.0.0.1", port=port)
    controller.start()
    yield handler, f"smtp://127.0.0.1:{port}"
    controller.stop()


@pytest.fixture
def context(service: Service, server: tuple[Server, str]) -> WorkerContext:
    """A worker that knows the server."""
    return replace(
        service.context, settings=service.context.settings.model_copy(update={"smtp_url": SecretStr(server[1])})
    )


def queued_mails(service: Service) -> list[Mail]:
    """All mails, oldest first."""
    with service.context.sessions() as session:
        return session.query(Mail).order_by(Mail.id).all()


def later(context: WorkerContext, **wait: float) -> WorkerContext:
    """The same worker at a later moment."""
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
    assert (mail.state, mail.body) == ("sent", ""), "the secret is forgotten"
    link = link_in(Mail(body=content.replace("=\r\n", "")))
    assert confirm(service, link).status_code == 204


def test_a_subject_with_a_line_break_keeps_no_mail_back(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    now = context.now()
    with service.context.sessions.begin() as session:
        for subject in ("evil\r\nBcc: all@example.org was rejected", "after it"):
            outbox.queue_mail(session, "grace@example.org", subject, "Hello", now=now)
    assert send_due_mails(context) == 2
    subjects = [
        message_from_bytes(envelope.content)["Subject"]
        for envelope in server[0].taken
        if isinstance(envelope.content, bytes)
    ]
    assert subjects == ["evil Bcc: all@example.org was rejected", "after it"]
    assert [envelope.rcpt_tos for envelope in server[0].taken] == [["grace@example.org"]] * 2


def test_workers_side_by_side_send_nothing_twice(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    with service.context.sessions.begin() as session:
        for number in range(30):
            outbox.queue_mail(session, f"n{number}@example.org", "Hello", "Hello.", now=context.now())
    threads = [threading.Thread(target=send_due_mails, args=[context]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(envelope.rcpt_tos[0] for envelope in server[0].taken) == sorted(
        f"n{number}@example.org" for number in range(30)
    )


def test_a_passing_refusal_is_tried_again_later(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    server[0].answer = "451 come back"
    assert send_due_mails(context) == 0
    assert (queued_mails(service)[0].state, queued_mails(service)[0].error) == ("waiting", "451 come back")
    server[0].answer = "250 OK"
    assert send_due_mails(context) == 0, "not before its time"
    assert send_due_mails(later(context, minutes=2)) == 1


def test_a_refusal_for_good_ends_it(service: Service, context: WorkerContext, server: tuple[Server, str]) -> None:
    sign_up(service)
    server[0].answer = "550 nobody here"
    assert send_due_mails(context) == 0
    assert (queued_mails(service)[0].state, queued_mails(service)[0].error) == ("failed", "550 nobody here")
    assert send_due_mails(later(context, days=1)) == 0


def test_a_line_that_breaks_after_the_mail_was_given_is_not_tried_again(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    server[0].hang_up = True
    assert send_due_mails(context) == 0
    assert len(server[0].taken) == 1
    assert queued_mails(service)[0].state == "unknown"
    server[0].hang_up = False
    assert send_due_mails(later(context, days=1)) == 0
    assert len(server[0].taken) == 1


def test_a_sender_that_vanishes_leaves_no_second_mail(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    with service.context.sessions.begin() as session:
        assert outbox.claim_mail(session, context.now()) is not None
    assert send_due_mails(context) == 0
    assert send_due_mails(later(context, hours=1)) == 0
    assert (queued_mails(service)[0].state, server[0].taken) == ("unknown", [])


def test_without_the_server_mails_wait_until_they_say_nothing_true(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    sign_up(service)
    absent = replace(
        context, settings=context.settings.model_copy(update={"smtp_url": SecretStr("smtp://127.0.0.1:1")})
    )
    assert send_due_mails(absent) == 0
    (mail,) = queued_mails(service)
    assert (mail.state, mail.attempts) == ("waiting", 1)
    assert mail.error
    unset = replace(context, settings=service.context.settings)
    assert send_due_mails(unset) == 0
    assert queued_mails(service)[0].state == "waiting"
    assert send_due_mails(later(unset, days=4)) == 0
    assert (queued_mails(service)[0].state, queued_mails(service)[0].body) == ("expired", "")
    assert send_due_mails(later(context, days=4)) == 0
    assert server[0].taken == []


def test_after_eight_attempts_a_mail_is_given_up(
    service: Service, context: WorkerContext, server: tuple[Server, str]
) -> None:
    with service.context.sessions.begin() as session:
        outbox.queue_mail(session, "a@example.org", "Hello", "Hello.", now=context.now())
    server[0].answer = "451 come back"
    waits = []
    for day in range(10):
        before = context.now() + timedelta(days=day)
        send_due_mails(replace(context, now=lambda moment=before: moment))  # type: ignore[misc]
        (mail,) = queued_mails(service)
        if mail.state == "waiting":
            waits.append((mail.due_at - before).total_seconds() / 60)
    assert waits == [1, 2, 4, 8, 16, 32, 64]
    assert (mail.state, mail.attempts) == ("failed", 8)


def test_a_password_is_not_sent_in_the_open(
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
