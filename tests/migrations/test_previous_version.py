"""An upgrade without downtime: the previous version works during the newest migrations and next to this version."""

import io
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from redis import Redis
from sqlalchemy import create_engine, text

import migrations
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import Servers
from deploy.standalone.ports import free_port
from kennel_client.admin import References
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from tests.compose.compose_file import ROOT
from tests.conftest import empty_database
from tests.factories import make_spec, make_zip, noise_images
from tests.migrations.planted import planted
from tests.migrations.previous_version import QUEUES, extract, run, running, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

CLIENTS = ("reader", "another reader", "uploader")
REQUESTS = 5
"""Requests of each client before the migrations begin, and again after they end."""
KENNEL = "from deploy.cli.main import main; main()"
ADDED = 'op.execute("ALTER TABLE submissions ADD COLUMN planted TEXT")'
DROPPED = 'op.execute("ALTER TABLE submissions DROP COLUMN ignored")'
RESTORED = 'op.execute("ALTER TABLE submissions ADD COLUMN ignored TEXT")'


@dataclass
class Installation:
    """A running previous version: web process, worker and beat on their own tables."""

    version: Path
    variables: dict[str, str]
    owner_url: str
    admin: ApiClient
    ada: ApiClient
    ada_token: str
    slug: str
    outputs: list[Callable[[], str]] = field(default_factory=list)

    def submit(self, seed: int) -> Any:
        return self.ada.submit(self.slug, io.BytesIO(make_zip(noise_images(seed))), file_name="entry.zip")

    def scored(self, entry: Any) -> Any:
        """Wait until both tracks of an entry are scored, and return it as an organizer sees it."""

        def both() -> Any:
            view = self.admin.get(f"/submissions/{entry['id']}")
            assert view["status"] not in {"failed", "rejected"}, view
            return view if (view["status"], view["private_state"]) == ("scored", "done") else None

        return wait_for(both, "both scores", *self.outputs)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        engine = create_engine(self.owner_url)
        with engine.connect() as connection:
            rows = [tuple(row) for row in connection.execute(text(query))]
        engine.dispose()
        return rows


@pytest.fixture(scope="module")
def installation(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The previous version with its own tables and an open competition."""
    version = tmp_path_factory.mktemp("previous")
    if not extract(version):
        pytest.skip("needs the repository's history (git)")
    with Redis.from_url(servers.redis.url) as redis:
        redis.flushdb()
    with ExitStack() as resources:
        app_url, owner_url = resources.enter_context(empty_database(servers))
        port = free_port()
        variables = {
            "DATABASE_URL": app_url,
            "REDIS_URL": servers.redis.url,
            "BLOB_URL": tmp_path_factory.mktemp("blobs").as_uri(),
            "KENNEL_SCRATCH": str(tmp_path_factory.mktemp("scratch")),
            "KENNEL_SWEEP_SECONDS": "1",
            "KENNEL_RATES": '{"request": "1000000/minute"}',
        }
        where = run(
            version, variables, "import api, worker, scorer; print(api.__file__, worker.__file__, scorer.__file__)"
        )
        assert all(path.startswith(str(version)) for path in where.split()), where
        run(version, variables | {"DATABASE_OWNER_URL": owner_url}, KENNEL, "migrate")
        outputs = [
            resources.enter_context(running(version, variables, *web(port))),
            resources.enter_context(running(version, variables, *worker("previous"))),
            resources.enter_context(running(version, variables, *beat(tmp_path_factory.mktemp("beat")))),
        ]
        url = f"http://127.0.0.1:{port}"
        token, ada_token = (
            run(version, variables, KENNEL, "admin", "account", *words).strip()
            for words in (("create-admin", "admin"), ("create", "ada", "--name", "Ada"))
        )
        admin = resources.enter_context(ApiClient(url, token))
        wait_for(lambda: answers(admin), "the web process", *outputs)
        slug = competition(admin)
        ada = resources.enter_context(ApiClient(url, ada_token))
        yield Installation(version, variables, owner_url, admin, ada, ada_token, slug, outputs)


def web(port: int) -> list[str]:
    """The module and arguments of a web process."""
    return ["uvicorn", "--factory", "api.main:served_app", "--port", str(port)]


def worker(name: str) -> list[str]:
    """The module and arguments of a worker for all queues that an entry needs."""
    return ["celery", "-A", "worker.app", "worker", "-Q", QUEUES, "--concurrency", "1", "-n", f"{name}@%h"]


def beat(folder: Path) -> list[str]:
    """The module and arguments of beat."""
    return ["celery", "-A", "worker.app", "beat", "-s", str(folder / "schedule"), "--pidfile="]


def answers(client: ApiClient) -> bool:
    """Whether the web process responds."""
    try:
        return bool(client.get("/ready"))
    except Refused:
        return False


def competition(admin: ApiClient) -> str:
    """Create an open competition with prepared references."""
    body = make_spec(datetime.now(UTC), pending_limit=100_000).model_dump(mode="json")
    admin.post("/competitions", body)
    slug = str(body["slug"])
    for role, seed in (("train", 1), ("held_out", 2), ("private_extra", 3)):
        admin.attach_references(slug, role, io.BytesIO(make_zip(noise_images(seed, 40))))
    References(admin).prepare(slug, say=lambda _: None, every=0.2)
    return slug


@dataclass
class Traffic:
    """Readers and uploaders that run until the end of the block. Every response except a success is a fault."""

    installation: Installation
    done: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    entries: list[Any] = field(default_factory=list)
    _end: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run all clients during the block."""
        threads = [threading.Thread(target=self._run, args=(name,)) for name in CLIENTS]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._end.set()
            for thread in threads:
                thread.join()

    def _run(self, name: str) -> None:
        while not self._end.is_set():
            try:
                self._request(name)
            except Refused as refused:
                self.faults.append(f"{name}: {refused.status} {refused}")
            self.done[name] += 1

    def _request(self, name: str) -> None:
        installation = self.installation
        if name == "uploader":
            self.entries.append(installation.submit(1000 + len(self.entries)))
            return
        installation.ada.get(f"/competitions/{installation.slug}/leaderboard")
        installation.ada.get(f"/competitions/{installation.slug}/submissions")
        installation.ada.get(f"/competitions/{installation.slug}")

    def wait_for_more(self) -> None:
        """Wait until every client has made ``REQUESTS`` more requests."""
        before = dict(self.done)
        wait_for(
            lambda: (
                len(self.done) == len(CLIENTS)
                and all(self.done[name] >= before.get(name, 0) + REQUESTS for name in self.done)
            ),
            "requests",
            *self.installation.outputs,
        )


def test_the_previous_version_answers_while_the_newest_migrations_run(
    installation: Installation, tmp_path: Path
) -> None:
    """A planted migration makes sure that there is at least one."""
    traffic = Traffic(installation)
    with planted(tmp_path, ADDED), traffic.running():
        traffic.wait_for_more()
        assert migrations.upgrade(installation.owner_url, APP)
        traffic.wait_for_more()
    assert traffic.faults == []
    assert len(traffic.entries) >= 2 * REQUESTS
    for entry in traffic.entries:
        assert installation.scored(entry)["measurements"]


def test_web_processes_of_both_versions_serve_side_by_side(installation: Installation) -> None:
    """As during an upgrade: each version shows the entries that the other one accepts."""
    migrations.upgrade(installation.owner_url, APP)
    port = free_port()
    with (
        running(ROOT, installation.variables, *web(port)) as output,
        ApiClient(f"http://127.0.0.1:{port}", installation.ada_token) as ada,
    ):
        wait_for(lambda: answers(ada), "our web process", output)
        theirs = installation.submit(5)
        ours = ada.submit(installation.slug, io.BytesIO(make_zip(noise_images(6))), file_name="entry.zip")
        for entry in (theirs, ours):
            installation.scored(entry)
            shown = [client.get(f"/submissions/{entry['id']}") for client in (ada, installation.ada)]
            assert shown[0]["measurements"] == shown[1]["measurements"] != []
        boards = [client.get(f"/competitions/{installation.slug}/leaderboard") for client in (ada, installation.ada)]
        places = [[(entry["rank"], entry["team"], entry["score"]) for entry in board["entries"]] for board in boards]
        assert places[0] == places[1] != []


def test_workers_of_both_versions_score_side_by_side(installation: Installation) -> None:
    migrations.upgrade(installation.owner_url, APP)
    with running(ROOT, installation.variables, *worker("ours")) as output:
        wait_for(lambda: "this worker is ready" in output(), "our worker", output)
        theirs = {name for (name,) in installation.rows("SELECT DISTINCT worker FROM jobs WHERE worker IS NOT NULL")}
        ((newest,),) = installation.rows("SELECT max(id) FROM jobs")
        scores = f"SELECT worker FROM jobs WHERE queue = 'score' AND state = 'done' AND id > {newest}"
        entries: list[Any] = []

        def scored_by_both() -> bool:
            entries.extend(installation.submit(7) for _ in range(4))
            for entry in entries[-4:]:
                installation.scored(entry)
            names = {name for (name,) in installation.rows(scores)}
            return bool(names & theirs) and bool(names - theirs)

        wait_for(scored_by_both, "scores by both", output, *installation.outputs)
    numbers = {
        (measurement["track"], measurement["fid"], measurement["memorization_distance"])
        for entry in entries
        for measurement in installation.scored(entry)["measurements"]
    }
    assert len(numbers) == 2, "both versions measure the same two numbers for the same zip"


def test_a_dropped_column_is_a_fault_of_the_previous_version(installation: Installation, tmp_path: Path) -> None:
    traffic = Traffic(installation)
    with planted(tmp_path, ADDED), planted(tmp_path, DROPPED, RESTORED, "dropped"):
        assert migrations.upgrade(installation.owner_url, APP)
        try:
            with traffic.running():
                traffic.wait_for_more()
        finally:
            command.downgrade(migrations.config_for(installation.owner_url, APP), "-1")
    assert any(": 500 " in fault for fault in traffic.faults)
