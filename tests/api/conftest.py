"""The real application with its own database, Redis and blob folder."""

import itertools
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import httpx
import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from moto.server import ThreadedMotoServer
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from sqlalchemy import event, select, text
from typer.testing import CliRunner

from api.http.csrf import csrf_token
from api.http.rate_limits import RateLimiter
from api.main import create_app, set_up_state
from scorer.accounts import password_hashing, sessions
from scorer.accounts.api_tokens import SCOPES
from scorer.accounts.sessions import Browser
from scorer.competitions import draw_secrets
from scorer.db.session import build_engine, build_sessions
from scorer.db.tables import (
    Account,
    AuditEntry,
    Competition,
    Job,
    Table,
    Token,
)
from scorer.jobs.broker import create_celery_app
from scorer.lifecycle import JobState, Queue
from scorer.monitoring import logs
from scorer.settings import Settings
from tests import prepared_references
from tests.factories import give_role, make_spec, make_zip
from tests.people import TOKENS, create_people
from worker.dispatch import run_next
from worker.runtime.context import WorkerContext

API = "/api/v1"
_WAITING_QUEUES = select(Job.queue).where(Job.state == JobState.WAITING).distinct()
_idle: list[FastAPI] = []
"""Unused applications. A new application would build its routes again at its first request."""


def refuse_second_connections(app: FastAPI) -> None:
    """Make requests fail that take a second database connection while they hold one."""
    held: dict[object, str] = {}

    def check_out(_: object, record: object, __: object) -> None:
        request = logs.request_id()
        if request is not None:
            assert request not in held.values(), "a request takes a second database connection while it holds one"
            held[record] = request

    def check_in(_: object, record: object) -> None:
        held.pop(record, None)

    for engine in (app.state.engine, app.state.readers._engine):
        event.listen(engine, "checkout", check_out)
        event.listen(engine, "checkin", check_in)


@contextmanager
def application(settings: Settings) -> Iterator[FastAPI]:
    """The application with these settings. Tests share applications because building routes is slow."""
    if _idle:
        app = _idle.pop()
        set_up_state(app, settings)
    else:
        app = create_app(settings)
    refuse_second_connections(app)
    yield app
    app.dependency_overrides = {}
    _idle.append(app)


@dataclass
class Service:
    """An HTTP client, a worker context over the same database and blobs, and tokens by handle."""

    http: TestClient
    context: WorkerContext
    tokens: dict[str, str]
    judges: dict[str, str] = field(default_factory=dict)
    """The roles that people have in every competition, by handle."""

    @property
    def app(self) -> FastAPI:
        """The application behind ``http``."""
        return cast("FastAPI", self.http.app)

    def call(self, who: str | None, method: str, path: str, **options: Any) -> Any:
        """Make a request with the token of ``who`` (None: as a visitor)."""
        headers = dict(options.pop("headers", {}))
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        return self.http.request(method, f"{API}{path}", headers=headers, **options)

    def browse(self, who: str, method: str, path: str, **options: Any) -> Any:
        """Make a request with a new session of ``who``, for actions that tokens cannot do."""
        secret = secrets.token_urlsafe(32)
        with self.context.sessions.begin() as session:
            account = session.query(Account).filter_by(handle=who).one()
            browser = Browser("testclient")
            sessions.begin(session, account, secret=secret, browser=browser, now=datetime.now(UTC))
        http = TestClient(self.app, cookies={"kennel": secret})
        return http.request(method, f"{API}{path}", headers={"X-CSRF-Token": csrf_token(secret)}, **options)

    def run_jobs(self, *, evidence: bool = False) -> None:
        """Run all due jobs in a worker's order. Evidence jobs run only with ``evidence``, or if jobs wait for them."""
        while any(run_next(self.context, queue) for queue in self._waiting_queues(evidence=evidence)):
            pass

    def _waiting_queues(self, *, evidence: bool) -> list[Queue]:
        """Return the queues with waiting jobs, because asking a worker costs as much as a small request."""
        with self.context.sessions() as session:
            waiting = set(session.scalars(_WAITING_QUEUES))
        return [queue for queue in Queue if queue in waiting and (evidence or queue != Queue.EVIDENCE)]

    def hire(self, *handles: str, role: str = "reviewer") -> None:
        """Create people with tokens and a role in every competition, including later ones."""
        for handle in handles:
            answer = self.browse("admin", "POST", "/admin/accounts", json={"handle": handle})
            self.tokens[handle] = answer.json()["token"]
            self.judges[handle] = role
        self._give_roles()
        with self.context.sessions.begin() as session:
            for token in session.query(Token).join(Account).filter(Account.handle.in_(handles)):
                token.scopes = list(SCOPES)

    def _give_roles(self) -> None:
        with self.context.sessions.begin() as session:
            for competition, (handle, role) in itertools.product(session.query(Competition), self.judges.items()):
                account = session.query(Account).filter_by(handle=handle).one()
                if all(held.competition_id != competition.id for held in account.competition_roles):
                    give_role(session, competition.id, account, role, datetime.now(UTC))

    def submit(self, who: str, slug: str, content: bytes | Iterator[bytes], **params: str) -> Any:
        return self.call(who, "POST", f"/competitions/{slug}/submissions", content=content, params=params)

    def entered(self, who: str, slug: str, content: bytes, **params: str) -> Any:
        """Upload a zip and return the submission as its owner sees it."""
        answer = self.submit(who, slug, content, **params)
        assert answer.status_code == 202, answer.text
        return self.call(who, "GET", f"/submissions/{answer.json()['id']}").json()

    def competition(self, references: dict[str, Any] | None = None, **changes: Any) -> str:
        """Create an open competition. It has the usual prepared references, or the images in ``references`` by role,
        which a worker prepares."""
        body = make_spec(datetime.now(UTC), **changes).model_dump(mode="json")
        slug: str = body["slug"]
        assert self.call("organizer", "POST", "/competitions", json=body).status_code == 201
        self._give_roles()
        if references is None:
            prepared_references.give(self.context, slug, body["image_size"])
            return slug
        for role, images in references.items():
            answer = self.call("organizer", "PUT", f"/competitions/{slug}/references/{role}", content=make_zip(images))
            assert answer.status_code == 200, answer.text
        for kind in ("public", "private"):
            answer = self.call("organizer", "POST", f"/competitions/{slug}/tracks/{kind}/preparation")
            assert answer.status_code == 202, answer.text
        self.run_jobs()
        return slug

    def change(self, slug: str, **changes: Any) -> None:
        """Change a competition as its organizer."""
        answer = self.call("organizer", "PATCH", f"/competitions/{slug}", json=changes)
        assert answer.status_code == 200, answer.text

    def close(self, slug: str, *, ago: timedelta = timedelta(hours=2)) -> None:
        """Set a competition's close to a time in the past."""
        self.change(slug, closes_at=(datetime.now(UTC) - ago).isoformat())

    def publish(self, slug: str, **act: Any) -> None:
        """Publish a competition's final board as its organizer, despite open items."""
        body = {"published": True, "reason": "Done.", "override": "a test", **act}
        answer = self.call("organizer", "POST", f"/competitions/{slug}/publication", json=body)
        assert answer.status_code == 201, answer.text

    def notices(self, who: str) -> list[dict[str, Any]]:
        """Return a person's notices, newest first."""
        rows: list[dict[str, Any]] = self.call(who, "GET", "/notices").json()["notices"]
        return rows

    def scored(self, who: str, slug: str, images: Any, **params: str) -> Any:
        """Submit an entry, run all jobs and return the submission as its owner sees it."""
        answer = self.submit(who, slug, make_zip(images), **params)
        assert answer.status_code == 202, answer.text
        self.run_jobs()
        return self.call(who, "GET", f"/submissions/{answer.json()['id']}").json()


@contextmanager
def cheap_passwords() -> Iterator[None]:
    """Use cheap password hashes. ``tests/pure/accounts/test_password_hashing.py`` tests real ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            password_hashing, "_hashing", PasswordHash((Argon2Hasher(time_cost=1, memory_cost=8, parallelism=1),))
        )
        password_hashing._dummy_hash.cache_clear()
        yield
    password_hashing._dummy_hash.cache_clear()


@contextmanager
def running_service(settings: Settings) -> Iterator[Service]:
    """Run a service with an admin, an organizer and the participants ada, bob and eve."""
    engine = build_engine(settings)
    with build_sessions(engine).begin() as session:
        create_people(session)
    app = create_celery_app(settings)
    with cheap_passwords(), application(settings) as web, TestClient(web) as http:
        yield Service(http, WorkerContext.open(settings, app), dict(TOKENS))
    app.close()
    engine.dispose()


@pytest.fixture
def service(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A service with an admin, an organizer and the participants ada, bob and eve.

    The secrets of its competitions, and so the images drawn from generators, are the same in every run.
    """
    monkeypatch.setattr(draw_secrets, "secrets", SimpleNamespace(token_bytes=np.random.default_rng(2).bytes))
    with running_service(settings) as started:
        yield started


def rated(service: Service, monkeypatch: pytest.MonkeyPatch, **rates: str) -> None:
    """Set rate limits of the service."""
    settings = service.context.settings.model_copy(update={"rates": {k.replace("_", "-"): v for k, v in rates.items()}})
    monkeypatch.setattr(service.app.state, "rates", RateLimiter(settings))


def limited(service: Service, monkeypatch: pytest.MonkeyPatch, **limits: int | None) -> None:
    """Set other limits of the service."""
    monkeypatch.setattr(service.app.state, "settings", service.app.state.settings.model_copy(update=limits))


def refused(answer: Any, status: int, slug: str) -> dict[str, Any]:
    """Require a refusal with this status and slug. Return the problem."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["type"] == f"urn:kennel:problem:{slug}"
    assert problem["status"] == status
    assert problem["title"]
    assert problem.pop("request_id") == answer.headers["X-Request-ID"]
    return problem


def read_problem(answer: Any) -> tuple[int, str]:
    """Return the status and the problem's slug of a refusal."""
    return answer.status_code, answer.json()["type"].removeprefix("urn:kennel:problem:")


def audit_entries(service: Service, action: str) -> list[tuple[str | None, str, Any, Any]]:
    """Return (actor, subject, before, after) of the entries for an action, oldest first."""
    with service.context.sessions() as session:
        rows = session.query(AuditEntry).filter_by(action=action).order_by(AuditEntry.id).all()
        people = {account.id: account.handle for account in session.query(Account)}
        return [(people.get(row.actor_id or 0), row.subject, row.before, row.after) for row in rows]


@pytest.fixture
def operator(service: Service, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Runs server commands with the service's settings."""
    settings = service.context.settings
    monkeypatch.setenv("DATABASE_URL", settings.database_url.get_secret_value())
    monkeypatch.setenv("REDIS_URL", settings.redis_url.get_secret_value())
    monkeypatch.setenv("BLOB_URL", settings.blob_url)
    monkeypatch.setenv("KENNEL_PUBLIC_URL", "https://kennel.example.org/")
    return CliRunner()


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of an S3 server with the bucket ``kennel``."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    assert httpx.put(f"{address}/kennel").status_code == 200
    yield address
    server.stop()


def rows_by_table(service: Service) -> dict[str, str]:
    """Return the rows of each table as text in lower case."""
    names = [table.name for table in Table.metadata.sorted_tables]
    with service.context.sessions() as session:
        return {name: "\n".join(session.scalars(text(f"SELECT {name}::text FROM {name}"))).lower() for name in names}
