"""``kennel admin installation doctor`` finds each fault, and none in a healthy installation."""

import json
import os
import resource
import shutil
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from itertools import chain
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from redis import Redis
from redis.exceptions import NoPermissionError
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.orm import Session, sessionmaker
from typer.testing import CliRunner

import migrations
from deploy.cli import admin_installation
from deploy.doctor import blob_store, database, machine, queue_server, surroundings
from deploy.doctor.examination import CHECKS, examine, run_check
from deploy.doctor.installation import Check, Command, Installation, Outcome, command_lines
from deploy.standalone import data_folder
from deploy.standalone.commands import (
    BACKGROUND_QUEUES,
    CHECKING_QUEUES,
    DRAWING_QUEUES,
    SCORING_QUEUES,
    SWEEPING_QUEUES,
    beat_command,
    web_command,
    worker_command,
)
from deploy.standalone.ephemeral import Servers
from deploy.standalone.unix_account import SERVICE, UnixAccount, system_account
from scorer.blobs import Blobs
from scorer.db import competitions
from scorer.db.diagnostics import ServerSettings, server_settings
from scorer.db.jobs import sweeps
from scorer.db.session import build_engine, build_sessions
from scorer.db.tables import Delivery, DrawSecret, Job, Mail, Pause, Webhook, WorkerReport
from scorer.extractor_catalogue import find_extractor
from scorer.lifecycle import Queue
from scorer.product_version import product_version
from tests.api.conftest import Service, running_service
from tests.api.unusable_store import refusing_s3
from tests.conftest import TEMPLATE, fresh_settings
from tests.factories import make_zip, noise_images
from tests.fake_clamd import running_clamd
from tests.http_server import serve
from worker.maintenance.sweeper import sweep_once
from worker.runtime import startup

Patch = pytest.MonkeyPatch
LONG_AGO = timedelta(days=2)
KEY = "submissions/of-nobody"


@pytest.fixture(scope="module")
def running(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Servers]]:
    """A service with a competition and an entry."""
    with (
        fresh_settings(servers, tmp_path_factory.mktemp("service"), TEMPLATE) as settings,
        running_service(settings) as service,
    ):
        slug = service.competition()
        assert service.submit("ada", slug, make_zip(noise_images(0))).status_code == 202
        yield service, servers


@pytest.fixture
def service(running: tuple[Service, Servers]) -> Service:
    """The service for all tests of this module."""
    return running[0]


@pytest.fixture
def installation(service: Service) -> Iterator[Installation]:
    """The installation as the service's database role sees it, with workers. Writes of tests are rolled back."""
    engine = build_engine(service.context.settings)
    with engine.connect() as connection, connection.begin() as outer:
        sessions = sessionmaker(connection, join_transaction_mode="create_savepoint", expire_on_commit=False)
        yield with_workers(Installation(service.context.settings, sessions, {}))
        outer.rollback()
    engine.dispose()


def with_workers(installation: Installation, **changes: object) -> Installation:
    """Add a worker of this version for all queues."""
    report = {
        "version": product_version(),
        "migration": migrations.newest_revision(),
        "queues": ["sweep", "uploads", *Queue],
        "extractors": {"tiny@1": "ab"},
    }
    installation.__dict__["workers"] = [WorkerReport(worker="all@here", **report | changes)]
    return installation


@contextmanager
def answering(status: int, body: bytes = b"{}") -> Iterator[str]:
    """The address of a server with the same response to all requests."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PUT = _answer  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def changed(installation: Installation, **settings: Any) -> Installation:
    """Return the installation with other settings."""
    made = replace(installation, settings=installation.settings.model_copy(update=settings))
    return with_workers(made)


@contextmanager
def as_superuser(
    running: tuple[Service, Servers], installation: Installation, *statements: str
) -> Iterator[Installation]:
    """The installation as a superuser sees it, after these statements. They are rolled back."""
    service, servers = running
    name = make_url(service.context.settings.database_url.get_secret_value()).database
    engine = create_engine(make_url(servers.postgres.admin_url).set(database=name))
    with engine.connect() as connection, connection.begin() as outer:
        for statement in statements:
            connection.execute(text(statement))
        yield replace(installation, sessions=sessionmaker(connection, join_transaction_mode="create_savepoint"))
        outer.rollback()
    engine.dispose()


@contextmanager
def configured(installation: Installation, name: str, value: str) -> Iterator[Installation]:
    """The installation with another configuration of its queue server."""
    with installation.queue_server() as client:
        before = client.config_get(name)[name]
        client.config_set(name, value)
        try:
            yield installation
        finally:
            client.config_set(name, before)


@contextmanager
def without_zip(service: Service, installation: Installation) -> Iterator[Installation]:
    """The installation without the zip of its entry."""
    with service.context.sessions() as session:
        key = session.execute(text("SELECT blob_key FROM submissions")).scalar_one()
    content = service.context.blobs.read(key)
    service.context.blobs.delete(key)
    try:
        yield installation
    finally:
        service.context.blobs.write(key, content)


@contextmanager
def readable_secret(installation: Installation) -> Iterator[Installation]:
    """The installation with a secret file that everybody can read."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "redis_password"
        file.write_text("secret")
        file.chmod(0o644)
        Path(folder).chmod(0o755)
        yield replace(installation, environ={"REDIS_PASSWORD_FILE": str(file)})


def with_rows(installation: Installation, *rows: Any) -> Installation:
    """Add rows to the installation. A row may refer to earlier ones."""
    with installation.sessions() as session:
        for row in rows:
            session.add(row)
            session.flush()
        session.commit()
    return installation


def job(**values: Any) -> Job:
    """Return a job without a submission that was due long ago."""
    then = datetime.now(UTC) - LONG_AGO
    usual = {"queue": "check", "state": "waiting", "priority": 0, "turn": 0, "attempts": 0}
    return Job(**{**usual, "due_at": then, "created_at": then, **values})


def overdue(**values: Any) -> dict[str, Any]:
    """Return the common fields of a mail and a webhook delivery."""
    then = datetime.now(UTC) - LONG_AGO
    return {
        "subject": "",
        "body": "",
        "link": "",
        "state": "waiting",
        "attempts": 1,
        "created_at": then,
        "due_at": then,
    } | values


def refused_mail() -> Mail:
    """Return a mail that the server has refused permanently."""
    refused = {"state": "failed", "error": "550 no such user", "due_at": datetime.now(UTC)}
    return Mail(recipient="ada@example.org", **overdue(**refused))


def with_late_delivery(installation: Installation) -> Installation:
    """Add a late webhook delivery to the installation."""
    with installation.sessions() as session:
        account = session.execute(text("SELECT min(id) FROM accounts")).scalar_one()
    hook = Webhook(account_id=account, url="https://example.org", secret="s", created_at=datetime.now(UTC))
    made = with_rows(installation, hook)
    return with_rows(made, Delivery(webhook_id=hook.id, kind="ping", **overdue()))


def with_draw_secret(installation: Installation) -> Installation:
    """Add a secret that was encrypted with another key to the installation."""
    with installation.sessions() as session:
        competition = session.execute(text("SELECT min(id) FROM competitions")).scalar_one()
    sealed = {"sealed": bytes(60), "sha256": "0" * 64}
    return with_rows(installation, DrawSecret(competition_id=competition, purpose="public", **sealed))


class Case:
    """Tools for breaking an installation."""

    def __init__(self, running: tuple[Service, Servers], installation: Installation, patch: Patch) -> None:
        self.running, self.installation, self.patch = running, installation, patch

    def with_server_settings(self, **values: Any) -> Installation:
        """The installation with other settings of the database server."""
        self.patch.setattr(database, "server_settings", lambda session: server_settings(session)._replace(**values))
        return self.installation

    def with_info(self, **values: Any) -> Installation:
        """The installation with other information from the queue server."""
        info = queue_server._info(self.installation)
        self.patch.setattr(queue_server, "_info", lambda _: {**info, **values})
        return self.installation

    def patched(self, owner: object, name: str, value: object) -> Installation:
        """The installation with a replaced attribute."""
        self.patch.setattr(owner, name, value)
        return self.installation

    def changed(self, **settings: Any) -> Installation:
        return changed(self.installation, **settings)


def fail(*_: object, **__: object) -> Any:
    """Raise the error of a store that forbids access."""
    raise PermissionError("403 Forbidden")


@contextmanager
def refusing_store(case: Case) -> Iterator[Installation]:
    """The installation with a refusing public address of the store."""
    with answering(403) as url:

        def sign(*_: object) -> str:
            return url

        case.installation.__dict__["blobs"] = SimpleNamespace(
            supports_presigned_put=True, presigned_put=sign, presigned_get=sign, discard=lambda _: None
        )
        yield case.installation


@contextmanager
def public(case: Case, status: int, **settings: Any) -> Iterator[Installation]:
    """The installation behind a server with this status."""
    with answering(status) as url:
        yield case.changed(public_url=url, **settings)


@contextmanager
def blind_scanner(case: Case) -> Iterator[Installation]:
    """The installation with a clamd without signatures."""
    with running_clamd() as server:
        server.signature = b"something else"
        yield case.changed(clamd=server.address)


@contextmanager
def other_issuer(case: Case) -> Iterator[Installation]:
    """The installation with an issuer of another name."""
    with answering(200, b'{"issuer": "https://other.example.org"}') as url:
        yield case.changed(oidc_issuer=url)


def away(case: Case) -> Installation:
    """The installation without its database."""
    url = make_url(case.installation.settings.database_url.get_secret_value()).set(port=1)
    settings = case.installation.settings.model_copy(
        update={"database_url": SecretStr(url.render_as_string(hide_password=False))}
    )
    return replace(case.installation, settings=settings, sessions=build_sessions(build_engine(settings)))


def swept(case: Case) -> Installation:
    """The installation with a last sweep that began an hour ago."""
    with case.installation.sessions() as session:
        sweeps.begin_sweep(session)
        session.execute(text("UPDATE last_sweep SET swept_at = now() - interval '1 hour'"))
        session.commit()
    return case.installation


SMTP = {"smtp_url": SecretStr("smtp://127.0.0.1:1")}
BREAKS: dict[str, tuple[Callable[[Case], Installation | AbstractContextManager[Installation]], str]] = {
    "database": (away, "Connection refused"),
    "clock": (lambda c: replace(c.installation, now=lambda: datetime.now(UTC) + timedelta(minutes=1)), "60 s ahead"),
    "database version": (lambda c: c.with_server_settings(major_version=12), "PostgreSQL 12"),
    "migrations": (
        lambda c: as_superuser(c.running, c.installation, "UPDATE alembic_version SET version_num = '0016'"),
        "made by a development version",
    ),
    "durability": (lambda c: c.installation, "fsync, full_page_writes, synchronous_commit: off"),
    "encoding": (lambda c: c.with_server_settings(encoding="SQL_ASCII"), "SQL_ASCII"),
    "connections": (lambda c: c.changed(web_processes=100), "may open 3020 connections"),
    "rights": (
        lambda c: as_superuser(
            c.running, c.installation, "REVOKE INSERT ON jobs FROM kennel_app", "SET LOCAL ROLE kennel_app"
        ),
        "lacks INSERT on jobs.",
    ),
    "role": (lambda c: as_superuser(c.running, c.installation), "is a superuser"),
    "pooler": (lambda c: c.changed(database_pooler=True), "DATABASE_OWNER_URL is not set"),
    "admin": (
        lambda c: as_superuser(c.running, c.installation, "UPDATE accounts SET role = 'organizer'"),
        "No account",
    ),
    "organizers": (
        lambda c: as_superuser(
            c.running,
            c.installation,
            "UPDATE accounts SET suspended_at = now() WHERE handle = 'organizer'",
            "UPDATE accounts SET role = 'participant' WHERE role = 'admin'",
        ),
        "Nobody can decide disputes in 1 of the competitions: A competition.",
    ),
    "queue server": (lambda c: c.changed(redis_url=SecretStr("redis://127.0.0.1:1/0")), "refused"),
    "queue server mode": (lambda c: c.with_info(cluster_enabled=1), "cluster mode"),
    "queue server version": (lambda c: c.with_info(redis_version="5.0.14"), "5.0.14, older than 6.2"),
    "queue server eviction": (
        lambda c: configured(c.installation, "maxmemory-policy", "allkeys-lru"),
        "With maxmemory-policy allkeys-lru",
    ),
    "queue server memory": (lambda c: configured(c.installation, "maxmemory", "1"), "of 1 bytes"),
    "queue server disk": (lambda c: c.with_info(rdb_last_bgsave_status="err"), "(rdb_last_bgsave_status)"),
    "queue server password": (lambda c: c.changed(redis_url=SecretStr("redis://valkey:6379/0")), "reaches valkey"),
    "blob store": (lambda c: c.changed(blob_url="file:///proc/nowhere"), "cannot be opened"),
    "large blobs": (lambda c: c.patched(Blobs, "join", fail), "in parts: PermissionError"),
    "free space": (lambda c: replace(c.installation, free_bytes=lambda _: 1), "1 bytes are free"),
    "direct uploads": (refusing_store, "responds to PUT with 403"),
    "zips": (lambda c: without_zip(c.running[0], c.installation), "1 of the 1 newest"),
    "variables": (
        lambda c: replace(c.installation, environ={"KENNEL_SMPT_URL": "smtp://mail.example.org"}),
        "KENNEL_SMPT_URL (did you mean KENNEL_SMTP_URL?)",
    ),
    "scratch": (lambda c: replace(c.installation, free_bytes=lambda _: 1), "1 bytes are free in"),
    "open files": (lambda c: c.patched(resource, "getrlimit", lambda _: (256, 1024)), "open 1024 files"),
    "secret files": (lambda c: readable_secret(c.installation), "redis_password"),
    "secrets": (lambda c: c.changed(metrics_token=SecretStr("prometheus")), "KENNEL_METRICS_TOKEN: shorter"),
    "draw key": (lambda c: with_draw_secret(c.installation), "KENNEL_DRAW_KEY is not the key"),
    "weights": (
        lambda c: c.patched(competitions, "extractors_in_use", lambda _: ["nasnetalarge@1"]),
        "missing",
    ),
    "GPU": (
        lambda c: (c.patched(startup, "device_fault", lambda _: "It is lost."), c.changed(device="cuda"))[1],
        "lost",
    ),
    "sandbox": (lambda c: c.patched(sys, "executable", "/bin/false"), "ended with status 1"),
    "metrics folder": (
        lambda c: replace(c.changed(metrics_port=9100), web_variable=lambda _: None),
        "PROMETHEUS_MULTIPROC_DIR is not a folder",
    ),
    "workers": (
        lambda c: with_workers(c.installation, queues=["sweep", "uploads", "check"]),
        "queues draw, score",
    ),
    "versions": (lambda c: with_workers(c.installation, migration="0016"), "0016"),
    "sweeps": (swept, "began 3,6"),
    "queues": (lambda c: with_rows(c.installation, job()), "none is running: check"),
    "failed jobs": (
        lambda c: with_rows(c.installation, job(state="failed", error="No disk.", finished_at=datetime.now(UTC))),
        "on check: No disk.",
    ),
    "pauses": (
        lambda c: with_rows(
            c.installation, Pause(worker="gpu-1", paused=True, reason="", created_at=datetime.now(UTC) - LONG_AGO)
        ),
        "gpu-1",
    ),
    "mails": (lambda c: with_rows(c.changed(**SMTP), refused_mail()), "550 no such user"),
    "webhooks": (lambda c: with_late_delivery(c.installation), "1 webhook calls wait"),
    "public address": (lambda c: public(c, 404), "responds with 404"),
    "encryption": (lambda c: c.changed(public_url="http://kennel.example.org"), "is not HTTPS"),
    "proxy": (
        lambda c: (
            c.patched(surroundings, "_probe", lambda *_, **__: httpx.Response(200)),
            c.changed(public_url="https://kennel.example.org"),
        )[1],
        "does not trust the proxy",
    ),
    "request size": (lambda c: public(c, 413, max_upload_bytes=10**9), "refuses requests of 1,000,000,000 bytes"),
    "mail server": (lambda c: c.changed(**SMTP), "cannot be used"),
    "mail sender": (lambda c: c.changed(**SMTP), "kennel@localhost"),
    "malware scanner": (blind_scanner, "does not detect the EICAR test file"),
    "OpenID Connect": (other_issuer, "names another issuer: https://other.example.org"),
}


def test_every_check_has_a_fault_to_find() -> None:
    assert list(BREAKS) == [check.name for check in CHECKS]
    assert len(CHECKS) >= 20


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_a_check_finds_its_fault(
    check: Check, running: tuple[Service, Servers], installation: Installation, monkeypatch: Patch
) -> None:
    break_installation, words = BREAKS[check.name]
    broken = break_installation(Case(running, installation, monkeypatch))
    with nullcontext(broken) if isinstance(broken, Installation) else broken as seen:
        outcome = run_check(check, seen)
    assert outcome.state == "wrong"
    assert words in outcome.finding
    assert outcome.remedy == check.remedy


def test_too_few_inodes_are_a_fault(installation: Installation, monkeypatch: Patch) -> None:
    disk = {"f_frsize": 4096, "f_blocks": 10**9, "f_bavail": 10**9, "f_files": 10**7, "f_favail": 10}
    monkeypatch.setattr("scorer.blobs.blob_writer.os.statvfs", lambda _: SimpleNamespace(**disk))
    (check,) = (check for check in blob_store.CHECKS if check.name == "free space")
    outcome = run_check(check, replace(installation, free_bytes=lambda _: 10**12))
    assert (outcome.state, "too few bytes or inodes" in outcome.finding) == ("wrong", True)


def test_unconfirmable_addresses_are_a_fault(installation: Installation) -> None:
    (check,) = (check for check in surroundings.CHECKS if check.name == "mail server")
    outcome = run_check(check, changed(installation, require_confirmed_address=True, smtp_url=None))
    assert (outcome.state, "KENNEL_SMTP_URL" in outcome.finding) == ("wrong", True)


def test_forbidden_queries_are_not_a_fault(installation: Installation, monkeypatch: Patch) -> None:
    def refuse(*_: object) -> None:
        raise NoPermissionError("this user has no permissions to run the 'info' command")

    monkeypatch.setattr(Redis, "info", refuse)
    changed_installation = [
        check for check in queue_server.CHECKS if check.name not in {"queue server", "queue server password"}
    ]
    assert {run_check(check, installation).state for check in changed_installation} == {"skipped"}


@pytest.fixture
def healthy(service: Service, installation: Installation, monkeypatch: Patch) -> Iterator[Installation]:
    """The installation with everything that tests leave out: a durable database server, sweeps and a web process."""

    def durable(session: Session) -> ServerSettings:
        return server_settings(session)._replace(fsync="on", full_page_writes="on", synchronous_commit="on")

    monkeypatch.setattr(database, "server_settings", durable)
    sweep_once(service.context)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**12))
    with serve(service.app) as url:
        yield changed(installation, public_url=url, sweep_seconds=60, min_free_bytes=0)


def test_a_healthy_installation_has_no_faults(healthy: Installation) -> None:
    before = _probes(healthy)
    outcomes = list(examine(healthy))
    assert [outcome for outcome in outcomes if outcome.state == "wrong"] == []
    assert {outcome.name for outcome in outcomes if outcome.state == "skipped"} == {
        "pooler",
        "direct uploads",
        "secret files",
        "draw key",
        "GPU",
        "metrics folder",
        "proxy",
        "mail server",
        "mail sender",
        "malware scanner",
        "OpenID Connect",
    }
    assert _probes(healthy) <= before


def _probes(installation: Installation) -> set[str]:
    """Return the doctor's leftover objects in the blob store."""
    return set(chain.from_iterable(installation.blobs.older_than("uploads/", datetime.now(UTC) + timedelta(days=1))))


@pytest.mark.parametrize(("queues", "state"), [(["sweep", "uploads", "check"], "ok"), (["check", "score"], "wrong")])
def test_workers_that_start_on_demand_are_not_a_fault(
    installation: Installation, queues: list[str], state: str
) -> None:
    """Only workers that check and sweep must always run."""
    from_zero = with_workers(changed(installation, workers_from_zero=True), queues=queues)
    assert {outcome.name: outcome for outcome in examine(from_zero)}["workers"].state == state


GPU = worker_command("gpu", SCORING_QUEUES)
CLOSED_PORT = "127.0.0.2:1"
OUTSIDE = {
    "public_url": f"http://{CLOSED_PORT}",
    "oidc_issuer": f"http://{CLOSED_PORT}",
    "clamd": CLOSED_PORT,
}
"""Unreachable addresses outside the service."""


def outside(installation: Installation, commands: Sequence[Command], names: Iterable[str]) -> set[str]:
    """Return the states of these checks on a machine with these processes that cannot reach other machines."""
    here = with_workers(replace(changed(installation, **OUTSIDE), commands=lambda: commands))
    outcomes = [run_check(find_check(name), here) for name in names]
    assert [outcome.remedy for outcome in outcomes if outcome.state == "skipped" and outcome.remedy] == []
    return {outcome.state for outcome in outcomes}


@pytest.mark.parametrize(
    ("commands", "state"),
    [
        ([GPU], "skipped"),
        ([worker_command("cpu", BACKGROUND_QUEUES), beat_command("/tmp/beat"), ["sh"]], "skipped"),
        ([GPU, web_command("127.0.0.1", 8000, 1)], "wrong"),
        ([GPU, worker_command("sweep", SWEEPING_QUEUES)], "wrong"),
        ([[word for word in GPU if word != "-Q"]], "wrong"),
        ([["sh"]], "wrong"),
        ([], "wrong"),
    ],
    ids=["gpu", "cpu", "gpu and web", "gpu and sweep", "unknown queues", "no worker", "nothing"],
)
def test_outside_addresses_are_checked_unless_only_workers_run(
    commands: Sequence[Command], state: str, installation: Installation
) -> None:
    """A container or pod that scores cannot reach other machines. On a machine with a web process, that is a fault."""
    assert outside(installation, commands, ("public address", "malware scanner", "OpenID Connect")) == {state}


@pytest.mark.parametrize(("worker", "state"), [(GPU, "skipped"), (worker_command("draw", DRAWING_QUEUES), "wrong")])
def test_only_a_machine_that_draws_needs_the_draw_key(worker: Command, state: str, installation: Installation) -> None:
    here = replace(with_draw_secret(changed(installation, draw_key=None)), commands=lambda: [worker])
    outcome = run_check(find_check("draw key"), here)
    assert (outcome.state, "has not set KENNEL_DRAW_KEY" in outcome.finding) == (state, state == "wrong")


def test_a_checking_worker_must_only_reach_the_malware_scanner(installation: Installation) -> None:
    checking = [GPU, worker_command("check", CHECKING_QUEUES)]
    assert outside(installation, checking, ("public address", "OpenID Connect")) == {"skipped"}
    assert outside(installation, checking, ("malware scanner",)) == {"wrong"}


def test_a_wrong_response_is_a_fault_if_only_workers_run(installation: Installation, monkeypatch: Patch) -> None:
    with answering(404) as url:
        here = replace(changed(installation, public_url=url), commands=lambda: [GPU])
        assert run_check(find_check("public address"), here).state == "wrong"

    def probe(*_: object) -> httpx.Response:
        raise httpx.ConnectError("expired") from ssl.SSLCertVerificationError("expired")

    monkeypatch.setattr(surroundings, "_probe", probe)
    here = replace(changed(installation, **OUTSIDE), commands=lambda: [GPU])
    assert run_check(find_check("public address"), here).state == "wrong"


def test_command_lines_are_read_from_processes() -> None:
    assert [sys.executable, *sys.orig_argv[1:]][1:] in [list(command)[1:] for command in command_lines()]


def test_the_metrics_folder_is_read_from_the_web_process(installation: Installation, tmp_path: Path) -> None:
    """systemd units set the folder only for the service's processes, because a command would add files to it."""
    here = changed(installation, metrics_port=9100)
    web = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)", *web_command("127.0.0.1", 1, 2)]
    environ = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    with subprocess.Popen(web, env=environ, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        outcome = run_check(find_check("metrics folder"), here)
        process.kill()
    assert outcome.state == "ok"


def test_checks_of_an_absent_database_are_skipped(healthy: Installation) -> None:
    broken = replace(healthy, sessions=away(Case((None, None), healthy, None)).sessions)  # type: ignore[arg-type]
    outcomes = {outcome.name: outcome for outcome in examine(with_workers(broken))}
    assert outcomes["clock"] == Outcome("clock", "skipped", 'not checked: the check "database" did not pass')
    # The check of migrations is skipped, and so are the checks that need it.
    assert outcomes["rights"].state == "skipped"
    assert {name for name, outcome in outcomes.items() if outcome.state == "wrong"} == {"database"}


@pytest.mark.parametrize(
    ("method", "words"),
    [("write", "written to"), ("read", "read"), ("older_than", "listed"), ("delete_all", "deleted from")],
)
def test_the_finding_names_what_the_blob_store_forbids(
    method: str, words: str, installation: Installation, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(Blobs, method, fail)
    (check,) = (check for check in blob_store.CHECKS if check.name == "blob store")
    finding = run_check(check, installation).finding
    assert finding == f"The blob store cannot be {words}: PermissionError: 403 Forbidden"


def test_the_finding_has_the_reason_of_s3(installation: Installation, monkeypatch: Patch) -> None:
    with refusing_s3(403, "RequestTimeTooSkewed") as address:
        for name, value in {"ENDPOINT": address, "ALLOW_HTTP": "true", "ACCESS_KEY_ID": "key"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        changed_installation = changed(installation, blob_url="s3://kennel", s3_secret_key=SecretStr("secret"))
        outcome = run_check(find_check("blob store"), changed_installation)
    assert outcome.finding.startswith("The blob store cannot be written to: PermissionDeniedError: "), outcome.finding
    assert "RequestTimeTooSkewed" in outcome.finding
    assert "clock" in str(outcome.remedy)


def find_check(name: str) -> Check:
    """Return a check by name."""
    (check,) = (check for check in CHECKS if check.name == name)
    return check


@contextmanager
def service_folder(mode: int = 0o700) -> Iterator[tuple[Path, UnixAccount]]:
    """A folder of the service's account, which parts use when root starts them."""
    account = system_account(SERVICE)
    assert account is not None
    folder = Path(tempfile.mkdtemp(prefix="kennel-test-"))
    try:
        os.chown(folder, account.uid, account.gid)
        folder.chmod(mode)
        yield folder, account
    finally:
        shutil.rmtree(folder)


@pytest.mark.root
def test_folders_that_root_creates_belong_to_the_service(installation: Installation) -> None:
    """The doctor can run before the first entry, so the service must be able to write to its folders."""
    with service_folder() as (folder, account):
        changed_installation = changed(installation, blob_url=(folder / "blobs").as_uri(), scratch=folder / "scratch")
        for check in (*blob_store.CHECKS[:2], find_check("scratch")):
            assert run_check(check, changed_installation).state == "ok", check.name
        made = [folder / "blobs" / "uploads", folder / "scratch", *folder.rglob("*")]
        assert {path.stat().st_uid for path in made} == {account.uid}


@pytest.mark.root
def test_root_finds_folders_that_the_service_cannot_write_to(installation: Installation) -> None:
    with service_folder(0o500) as (folder, _):
        changed_installation = changed(installation, blob_url=folder.as_uri(), scratch=folder / "scratch")
        store, scratch = (
            run_check(check, changed_installation) for check in (blob_store.CHECKS[0], find_check("scratch"))
        )
    assert store.finding.startswith("The blob store cannot be written to: ")
    assert "Permission denied" in scratch.finding


def test_later_tables_are_not_a_fault(running: tuple[Service, Servers], installation: Installation) -> None:
    (check,) = (check for check in database.CHECKS if check.name == "migrations")
    with as_superuser(running, installation, "UPDATE alembic_version SET version_num = '9999'") as later:
        outcome = run_check(check, later)
    assert (outcome.state, "9999, later than this version's" in outcome.finding) == ("ok", True)


def test_an_installation_without_a_sweep_is_a_fault(
    running: tuple[Service, Servers], installation: Installation
) -> None:
    (check,) = (check for check in CHECKS if check.name == "sweeps")
    with as_superuser(running, installation, "DELETE FROM last_sweep") as never_swept:
        assert run_check(check, never_swept).finding.startswith("No sweep has ever run")


def test_trusting_every_proxy_is_a_fault(installation: Installation) -> None:
    (check,) = (check for check in surroundings.CHECKS if check.name == "proxy")
    everybody = (ip_network("0.0.0.0/0"),)
    trusting = changed(installation, public_url="https://kennel.example.org", trusted_proxies=everybody)
    assert "can claim any address" in run_check(check, trusting).finding


def test_weights_on_other_machines_are_read_from_worker_reports(installation: Installation) -> None:
    (check,) = (check for check in machine.CHECKS if check.name == "weights")
    elsewhere = changed(installation, weights_dir=Path("/no/weights"))
    assert run_check(check, elsewhere).state == "ok"
    (report,) = elsewhere.workers
    lacking = f"missing or wrong where gpu@there runs: `{find_extractor('tiny').installation}`"
    for other, words in (({}, lacking), ({"tiny@1": "cd"}, "differ between all@here")):
        second = WorkerReport(worker="gpu@there", queues=["score"], extractors=other)
        elsewhere.__dict__["workers"] = [report, second]
        assert words in run_check(check, elsewhere).finding
    assert run_check(check, with_workers(elsewhere, queues=["check"])).state == "skipped"


def test_the_command_prints_remedies_and_sets_its_status(healthy: Installation, monkeypatch: Patch) -> None:
    monkeypatch.setattr(data_folder, "load_settings", lambda _: healthy.settings)
    monkeypatch.setattr(Installation, "workers", [])
    result = CliRunner().invoke(admin_installation.app, ["doctor"])
    assert result.exit_code == 1
    assert "ok     database: it responds\n" in result.stdout
    assert "WRONG  workers: No running worker takes jobs from the queues sweep, uploads, check" in result.stdout
    assert "\n         Start a worker for these queues" in result.stdout
    result = CliRunner().invoke(admin_installation.app, ["doctor", "--json"])
    assert result.exit_code == 1
    wrong = {check["name"]: check["remedy"] for check in json.loads(result.stdout) if check["state"] == "wrong"}
    assert set(wrong) == {"workers"}
    monkeypatch.setattr(Installation, "workers", with_workers(healthy).workers)
    assert CliRunner().invoke(admin_installation.app, ["doctor"]).exit_code == 0
