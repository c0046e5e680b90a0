"""A mail server on loopback, and a worker that uses it."""

from asyncio import WriteTransport
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope
from aiosmtpd.smtp import Session as Connection
from pydantic import SecretStr

from deploy.standalone.ports import free_port
from tests.api.conftest import Service
from worker.runtime.context import WorkerContext


@dataclass
class Server:
    """A mail server without 8BITMIME. It replies to recipients with ``answer``, to the recipient ``unknown`` with 550,
    and to MAIL FROM with ``sender_answer``. It closes the connection at the command ``hang_up``."""

    taken: list[Envelope] = field(default_factory=list)
    answer: str = "250 OK"
    sender_answer: str = "250 OK"
    unknown: str = ""
    hang_up: str = ""

    async def handle_EHLO(  # noqa: N802
        self, _: SMTP, connection: Connection, __: Envelope, name: str, lines: list[str]
    ) -> list[str]:
        """Reply to EHLO with the server's extensions."""
        connection.host_name = name
        return [line for line in lines if "8BITMIME" not in line]

    async def handle_MAIL(self, _: SMTP, __: Connection, envelope: Envelope, address: str, options: Any) -> str:  # noqa: N802
        """Reply to the sender."""
        envelope.mail_from = address
        return self.sender_answer

    async def handle_RCPT(self, server: SMTP, _: Connection, envelope: Envelope, address: str, options: Any) -> str:  # noqa: N802
        """Reply to a recipient."""
        if self.hang_up == "RCPT":
            self.abort(server)
        if address == self.unknown:
            return "550 no such user"
        if self.answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return self.answer

    async def handle_DATA(self, server: SMTP, _: Connection, envelope: Envelope) -> str:  # noqa: N802
        """Accept a complete mail."""
        self.taken.append(envelope)
        if self.hang_up == "DATA":
            self.abort(server)
        return "250 OK"

    @staticmethod
    def abort(server: SMTP) -> None:
        """Close the connection."""
        assert isinstance(server.transport, WriteTransport)
        server.transport.abort()


@pytest.fixture
def server() -> Iterator[tuple[Server, str]]:
    """A mail server on loopback, with its address."""
    handler = Server()
    port = free_port()
    controller = Controller(handler, hostname="127.0.0.1", port=port)
    controller.start()
    yield handler, f"smtp://127.0.0.1:{port}"
    controller.stop()


@pytest.fixture
def context(service: Service, server: tuple[Server, str]) -> WorkerContext:
    """A worker that uses the mail server."""
    return replace(
        service.context, settings=service.context.settings.model_copy(update={"smtp_url": SecretStr(server[1])})
    )
