"""Webhook deliveries to real servers on loopback."""

import asyncio
import ipaddress
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
import standardwebhooks

from scorer.acting import Acting
from scorer.db import notifications
from scorer.db.tables import Account, Delivery, Webhook
from scorer.errors import Invalid
from scorer.jobs.broker import create_celery_app
from scorer.notifications import notices, ssrf_guard, webhooks
from scorer.notifications.notices import Kind, NoticeText
from scorer.notifications.ssrf_guard import NotPublicAddress, is_public, resolve_public_address
from scorer.settings import Settings
from tests.documents import ROOT, blocks
from tests.factories import make_account
from tests.http_server import self_signed_certificate
from worker.delivery import webhook_delivery
from worker.delivery.webhook_delivery import post_due_deliveries
from worker.runtime.context import WorkerContext

SECRET = webhooks.encode_secret(bytes(range(32)))


@dataclass
class Receiver:
    """Records requests, and responds with any status, late or without end."""

    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    before_answer: Callable[[], object] = lambda: None
    endless: bool = False
    hung_up: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    @property
    def ids(self) -> list[str]:
        """The ids of the received deliveries."""
        return [headers["webhook-id"] for _, headers, _ in self.requests]

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """An address of this receiver."""
        return f"http://{host}:{self.port}{path}"


def handler_for(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    """The standard library's handler with the receiver's behaviour."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append((self.path, dict(self.headers), body))
            receiver.before_answer()
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                while receiver.endless:
                    self.wfile.write(b"x" * 65536)
            except OSError:
                receiver.endless = False
                receiver.hung_up.set()

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def serve(receiver: Receiver, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(receiver))
    server.handle_error = lambda *_: None  # type: ignore[method-assign] # a handshake fails on purpose
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield receiver
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    yield from serve(Receiver())


@pytest.fixture
def context(settings: Settings) -> Iterator[WorkerContext]:
    """A worker that may send to this machine."""
    app = create_celery_app(settings)
    local_settings = settings.model_copy(update={"webhooks_local": True, "public_url": "https://kennel.example.org"})
    moment = datetime.now(UTC)
    context = replace(WorkerContext.open(local_settings, app), now=lambda: moment)
    yield context
    app.close()
    context.sessions.kw["bind"].dispose()


def later(context: WorkerContext, **wait: float) -> WorkerContext:
    """The same worker at a later time."""
    moment = context.now() + timedelta(**wait)
    return replace(context, now=lambda: moment)


def person(context: WorkerContext, *urls: str) -> Account:
    """Create an account with webhooks."""
    with context.sessions.begin() as session:
        account = make_account(session, context.now())
        for url in urls:
            webhooks.register(Acting(session, account, context.now()), url, secret=SECRET, local=True)
    return account


def send_notices(context: WorkerContext, account: Account, times: int = 1) -> None:
    """Send notices, one per transaction."""
    for _ in range(times):
        with context.sessions.begin() as session:
            notice = NoticeText(Kind.RULING, "Größe", "Kept.", "/submissions/x")
            notices.notify(session, notice, context.now(), accounts=[account.id])


def deliveries(context: WorkerContext) -> list[Delivery]:
    """All deliveries, oldest first."""
    with context.sessions() as session:
        return session.query(Delivery).order_by(Delivery.id).all()


def test_a_notice_arrives_once_and_can_be_verified(context: WorkerContext, receiver: Receiver) -> None:
    send_notices(context, person(context, receiver.url("/hook?a=1")))
    assert post_due_deliveries(context) == 1
    assert post_due_deliveries(later(context, days=2)) == 0
    ((path, headers, body),) = receiver.requests
    (delivery,) = deliveries(context)
    assert (delivery.state, delivery.attempts, delivery.error) == ("sent", 1, None)
    assert path == "/hook?a=1"
    assert json.loads(body) == {
        "id": delivery.id,
        "kind": "ruling",
        "subject": "Größe",
        "body": "Kept.",
        "link": "https://kennel.example.org/submissions/x",
        "created_at": context.now().isoformat(),
    }
    assert headers["webhook-timestamp"] == str(int(context.now().timestamp()))
    assert headers["Host"] == f"127.0.0.1:{receiver.port}"
    assert headers["Content-Type"] == "application/json"
    assert headers["webhook-id"] == str(delivery.id)


def test_the_official_library_verifies_a_delivery(context: WorkerContext, receiver: Receiver) -> None:
    send_notices(context, person(context, receiver.url()))
    assert post_due_deliveries(context) == 1
    ((_, headers, body),) = receiver.requests
    library = standardwebhooks.Webhook(SECRET)
    assert library.verify(body, dict(headers))["subject"] == "Größe"
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        library.verify(body + b" ", dict(headers))


def test_the_receiver_of_the_how_to_accepts_only_signed_deliveries(context: WorkerContext) -> None:
    how_to = (ROOT / "docs" / "how-to" / "webhooks-and-mail.md").read_text()
    (program,) = (block.body for block in blocks(how_to) if "HTTPServer" in block.body)
    environment = {**os.environ, "WEBHOOK_SECRET": SECRET, "PYTHONUTF8": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().split()[1]
            url = f"http://127.0.0.1:{port}/"
            send_notices(context, person(context, url))
            assert post_due_deliveries(context) == 1
            assert process.stdout.readline() == "ruling Größe https://kennel.example.org/submissions/x\n"
            forged = webhooks.signed_headers(webhooks.encode_secret(bytes(32)), "1", int(time.time()), body=b"{}")
            assert httpx.post(url, content=b"{}", headers=forged).status_code == 401
        finally:
            process.kill()


def test_several_workers_send_nothing_twice(context: WorkerContext, receiver: Receiver) -> None:
    account = person(context, *(receiver.url(f"/{number}") for number in range(3)))
    send_notices(context, account, 10)
    threads = [threading.Thread(target=post_due_deliveries, args=[context]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    post_due_deliveries(context)  # a worker may have found every webhook busy with another worker's delivery
    assert Counter(receiver.ids) == Counter({str(delivery.id): 1 for delivery in deliveries(context)})
    assert len(receiver.ids) == 30


def test_a_failed_delivery_is_retried_for_a_day_with_the_same_id(context: WorkerContext, receiver: Receiver) -> None:
    receiver.status = 500
    send_notices(context, person(context, receiver.url()))
    waits = []
    moment = context.now()
    for _ in range(20):
        assert post_due_deliveries(replace(context, now=lambda moment=moment: moment)) == 0  # type: ignore[misc]
        (delivery,) = deliveries(context)
        if delivery.state != "waiting":
            break
        assert delivery.error == "The server responded with 500."
        waits.append((delivery.due_at - moment).total_seconds() / 60)
        early = delivery.due_at - timedelta(seconds=1)
        assert post_due_deliveries(replace(context, now=lambda moment=early: moment)) == 0  # type: ignore[misc]
        moment = delivery.due_at
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert (delivery.state, delivery.attempts) == ("failed", 11)
    assert receiver.ids == [str(delivery.id)] * 11
    assert len({body for _, _, body in receiver.requests}) == 1


def test_a_receiver_that_recovers_gets_the_delivery(context: WorkerContext, receiver: Receiver) -> None:
    receiver.status = 503
    send_notices(context, person(context, receiver.url()))
    assert post_due_deliveries(context) == 0
    receiver.status = 204
    assert post_due_deliveries(later(context, seconds=61)) == 1
    assert deliveries(context)[0].state == "sent"


def test_redirects_are_not_followed(context: WorkerContext, receiver: Receiver) -> None:
    receiver.status = 307
    receiver.headers = {"Location": receiver.url("/elsewhere")}
    send_notices(context, person(context, receiver.url("/here")))
    assert post_due_deliveries(context) == 0
    assert [path for path, _, _ in receiver.requests] == ["/here"]
    assert (deliveries(context)[0].error or "").startswith(
        "The server responded with 307. Kennel does not follow redirects"
    )


def test_a_receiver_that_is_gone_ends_its_webhook_and_notifies_the_owner(
    context: WorkerContext, receiver: Receiver
) -> None:
    with contextmanager(serve)(Receiver(status=410)) as gone:
        account = person(context, gone.url("/gone"), receiver.url())
        send_notices(context, account, 2)
        post_due_deliveries(context)
        post_due_deliveries(later(context, days=2))
        assert [path for path, _, _ in gone.requests] == ["/gone"]
    assert len(receiver.requests) == 3, "the notice about the other webhook also arrived here"
    with context.sessions() as session:
        (active,) = notifications.active_webhooks(session, account.id)
        newest = notifications.notices_page(session, account.id, limit=9)[0]
    assert active.url == receiver.url()
    assert newest.kind == "webhook"
    assert gone.url("/gone") in newest.body
    assert "410" in newest.body
    assert Counter(delivery.state for delivery in deliveries(context)) == {"failed": 2, "sent": 3}


def test_a_slow_receiver_delays_no_other(
    context: WorkerContext, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slow receiver responds to a notice only after the other receiver has it."""
    monkeypatch.setattr(webhook_delivery, "ATTEMPT_SECONDS", 60.0)
    monkeypatch.setattr(webhook_delivery, "ROUND_SECONDS", 300.0)

    def wait_for_the_other() -> None:
        end = time.monotonic() + 120
        while len(receiver.requests) < len(slow.requests) and time.monotonic() < end:
            time.sleep(0.01)

    with contextmanager(serve)(Receiver(before_answer=wait_for_the_other)) as slow:
        send_notices(context, person(context, slow.url(), receiver.url()), 3)
        assert post_due_deliveries(context) == 6
    assert len(slow.requests) == len(receiver.requests) == 3


def test_a_receiver_that_never_responds_times_out(context: WorkerContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_delivery, "ATTEMPT_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        send_notices(context, person(context, f"http://127.0.0.1:{silent.getsockname()[1]}/"), 3)
        assert post_due_deliveries(context) == 0
    assert Counter((delivery.state, delivery.error) for delivery in deliveries(context)) == {
        ("waiting", "The server did not respond within 0.2 s."): 3
    }


def test_a_slow_name_server_delays_no_other_delivery(
    context: WorkerContext, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_delivery, "ATTEMPT_SECONDS", 0.5)
    system, answers = socket.getaddrinfo, threading.Event()

    def resolve(host: Any, *args: Any, **options: Any) -> Any:
        if host == "slow.example.org":
            answers.wait(30)
        return system("127.0.0.1", *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    send_notices(context, person(context, "http://slow.example.org/", receiver.url()))
    assert post_due_deliveries(context) == 1
    assert not answers.is_set(), "the round ended before the lookup"
    assert [delivery.error for delivery in deliveries(context)] == ["The server did not respond within 0.5 s.", None]
    answers.set()


def test_a_finished_round_starts_no_delivery(
    context: WorkerContext, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_notices(context, person(context, receiver.url()))
    monkeypatch.setattr(webhook_delivery, "ROUND_SECONDS", 0.0)
    assert post_due_deliveries(context) == 0
    assert [delivery.state for delivery in deliveries(context)] == ["waiting"]
    assert receiver.requests == []


def test_waiting_deliveries_end_with_their_webhook(context: WorkerContext, receiver: Receiver) -> None:
    account = person(context, receiver.url())
    send_notices(context, account)
    with context.sessions.begin() as session:
        webhooks.end_all(session, session.get_one(Account, account.id), now=context.now())
    assert post_due_deliveries(context) == 0
    assert receiver.requests == []


@pytest.mark.parametrize(
    ("url", "usable"),
    [
        ("https://hooks.example.org/", True),
        ("https://hooks.example.org:443/", True),
        ("https://hooks.example.org:8443/", True),
        ("https://hooks.example.org:22/", False),
        ("https://hooks.example.org:5432/", False),
        ("https://hooks.example.org:x/", False),
        ("http://hooks.example.org/", False),
        ("https://kennel@hooks.example.org/", False),
        ("https://kennel:password@hooks.example.org/", False),
        ("file:///etc/passwd", False),
        ("https://", False),
        ("https://hooks.example.org/ a", False),
        ("https://hooks.example.org/\r\nHost: other", False),
        ("https://hooks.example.org/" + "a" * webhooks.MAX_URL_LENGTH, False),
    ],
)
def test_usable_and_refused_webhook_addresses(url: str, usable: bool) -> None:
    """Owners see outcomes, so with other ports they could scan for open ones."""
    if usable:
        webhooks.require_url(url, local=False)
    else:
        with pytest.raises(Invalid):
            webhooks.require_url(url, local=False)


def test_concurrent_lookups_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ssrf_guard, "_lookups", threading.BoundedSemaphore(1))
    resolving(monkeypatch, "8.8.8.8")
    assert ssrf_guard._lookups.acquire(blocking=False)
    with pytest.raises(NotPublicAddress):
        asyncio.run(resolve_public_address("hooks.example.org", local=False))
    ssrf_guard._lookups.release()
    for _ in range(2):
        assert asyncio.run(resolve_public_address("hooks.example.org", local=False)) == "8.8.8.8"


def test_an_endless_response_is_not_read(context: WorkerContext, receiver: Receiver) -> None:
    receiver.endless = True
    send_notices(context, person(context, receiver.url()))
    assert post_due_deliveries(context) == 1  # and it returned despite an endless response
    assert receiver.hung_up.wait(60), "the worker closes the connection"


def test_an_unreachable_receiver_is_a_failed_attempt(context: WorkerContext) -> None:
    send_notices(context, person(context, "http://127.0.0.1:1/"))
    assert post_due_deliveries(context) == 0
    assert "could not be reached" in (deliveries(context)[0].error or "")


def test_a_lost_senders_delivery_is_sent_again_with_the_same_id(context: WorkerContext, receiver: Receiver) -> None:
    send_notices(context, person(context, receiver.url()))
    with context.sessions.begin() as session:
        (lost,) = webhooks.claim_deliveries(session, now=context.now(), limit=9)
    assert post_due_deliveries(later(context, seconds=50)) == 0, "its sender may still be working"
    assert post_due_deliveries(later(context, seconds=61)) == 1
    assert receiver.ids == [str(lost.id)]
    with context.sessions.begin() as session:
        webhooks.record_failure(session, lost, error="too late to say", now=context.now())
    assert (deliveries(context)[0].state, deliveries(context)[0].error) == ("sent", None)


# Addresses that are not public


def test_this_machine_is_unreachable_unless_allowed(context: WorkerContext, receiver: Receiver) -> None:
    strict = replace(context, settings=context.settings.model_copy(update={"webhooks_local": False}))
    send_notices(context, person(context, receiver.url(), receiver.url(host="localhost")))
    assert post_due_deliveries(strict) == 0
    assert receiver.requests == []
    assert {delivery.error for delivery in deliveries(context)} == {
        "The name 127.0.0.1 has no address on the public network.",
        "The name localhost has no address on the public network.",
    }


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "192.0.0.8", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1",
        "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:8.8.8.8",
        "168.63.129.16", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:1::1", "2001:db8::1", "not an address",
    ],
)  # fmt: skip
def test_private_addresses_are_recognised(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "193.99.144.80", "2606:4700:4700::1111", "2a02:2e0:3fe:1001::1"])
def test_public_addresses_are_recognised(address: str) -> None:
    assert is_public(address)


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Make every name resolve to these addresses. Returns the requested names."""
    requested: list[str] = []
    system = socket.getaddrinfo

    def resolve(host: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        requested.append(name)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]
        return system(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return requested


def test_a_name_with_one_private_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, "8.8.8.8", "127.0.0.1")
    with pytest.raises(NotPublicAddress):
        asyncio.run(resolve_public_address("hooks.example.org", local=False))
    resolving(monkeypatch, "8.8.8.8")
    assert asyncio.run(resolve_public_address("hooks.example.org", local=False)) == "8.8.8.8"
    resolving(monkeypatch)
    with pytest.raises(NotPublicAddress):
        asyncio.run(resolve_public_address("hooks.example.org", local=True))


def test_the_checked_address_is_the_called_address(
    context: WorkerContext, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_notices(context, person(context, receiver.url(host="hooks.example.org")))
    requested = resolving(monkeypatch, "127.0.0.1")
    assert post_due_deliveries(context) == 1
    assert requested.count("hooks.example.org") == 1, "a second lookup could give another address"
    assert receiver.requests[0][1]["Host"] == f"hooks.example.org:{receiver.port}"


# TLS


@pytest.mark.parametrize(
    ("trusted", "host", "arrives"),
    [(True, "hooks.example.org", 1), (False, "hooks.example.org", 0), (True, "other.example.org", 0)],
)
def test_the_certificate_must_match_the_name(
    context: WorkerContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusted: bool, host: str, arrives: int
) -> None:
    chain, key = self_signed_certificate(tmp_path, "hooks.example.org")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(chain, key)
    requested: list[str | None] = []
    tls.sni_callback = lambda _, name, __: requested.append(name)
    if trusted:
        system = ssl.create_default_context
        monkeypatch.setattr("ssl.create_default_context", lambda **_: system(cafile=str(chain)))
    for receiver in serve(Receiver(), tls):
        send_notices(context, person(context, receiver.url(host=host).replace("http:", "https:")))
        resolving(monkeypatch, "127.0.0.1")
        assert post_due_deliveries(context) == arrives
        assert len(receiver.requests) == arrives
    assert requested == [host]
    assert ("CERTIFICATE_VERIFY_FAILED" in (deliveries(context)[0].error or "")) is (arrives == 0)


def test_a_webhook_of_an_uninvolved_person_gets_nothing(context: WorkerContext, receiver: Receiver) -> None:
    """It gets no notices of other people."""
    person(context, receiver.url())
    send_notices(context, person(context))
    assert post_due_deliveries(context) == 0
    with context.sessions() as session:
        assert session.query(Webhook).count() == 1
    assert receiver.requests == []
