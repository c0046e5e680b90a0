"""PgBouncer in transaction mode between the service and PostgreSQL: few connections shared by many processes."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from threading import Barrier
from typing import Any

import httpx
import psutil
import psycopg2
import pytest
from pydantic import SecretStr
from sqlalchemy import make_url, text

from deploy.standalone.ports import free_port
from scorer.db.session import Connections, connected, use_one_snapshot
from scorer.settings import Settings
from tests.api.conftest import API, Service, running_service
from tests.conftest import addresses
from tests.factories import make_zip, noise_images

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
ROOT = Path(__file__).parents[2]
PATIENCE = 900
SERVER_CONNECTIONS = 60
WEB_PROCESSES, WORKER_PROCESSES = 16, 64

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs pgbouncer (Debian's package)")


@contextmanager
def process(*command: str, environment: dict[str, str] | None = None) -> Iterator[Callable[[], str]]:
    """Run a process during the block, and yield a function that returns its output so far."""
    with TemporaryFile("w+") as log:
        child = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)

        def output() -> str:
            log.seek(0)
            return log.read()

        try:
            yield output
        finally:
            family = psutil.Process(child.pid).children(recursive=True)
            child.terminate()
            try:
                child.wait(30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
            for survivor in psutil.wait_procs(family, timeout=10)[1]:
                survivor.kill()


def wait_until(condition: Callable[[], Any], output: Callable[[], str]) -> None:
    """Wait until the condition is true. A failure shows the output."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, output()
        time.sleep(0.1)


@contextmanager
def pooled(settings: Settings, folder: Path, connections: int) -> Iterator[Settings]:
    """The settings of a service behind a pooler with this many connections to the server."""
    assert PROGRAM is not None
    url, port = make_url(settings.database_url.get_secret_value()), free_port()
    config = folder / "pgbouncer.ini"
    config.write_text(
        f"[databases]\n{url.database} = host=127.0.0.1 port={url.port} user={url.username} password={url.password}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        f"pool_mode = transaction\ndefault_pool_size = {connections}\nmax_client_conn = 2000\nlog_connections = 0\n"
        "log_disconnections = 0\n"
    )
    through = url.set(port=port, password=None)
    account = ["-u", "nobody"] if os.geteuid() == 0 else []

    def accepts() -> bool:
        try:
            psycopg2.connect(through.set(drivername="postgresql").render_as_string()).close()
        except psycopg2.OperationalError:
            return False
        return True

    with process(PROGRAM, *account, str(config)) as output:
        wait_until(accepts, output)
        yield settings.model_copy(
            update={"database_url": SecretStr(through.render_as_string()), "database_pooler": True}
        )


def test_each_transaction_has_its_limits_and_its_isolation(settings: Settings, tmp_path: Path) -> None:
    """The pooler shares connections, so a transaction's settings must apply to it and must not affect the next one."""
    query = text("SELECT current_setting('lock_timeout'), current_setting('timezone'), current_setting(:name)")
    isolation = {"name": "transaction_isolation"}
    with pooled(settings, tmp_path, connections=1) as behind, connected(behind) as sessions:
        readers = Connections(behind, max_connections=2)
        for _ in range(2):
            with sessions() as session:
                use_one_snapshot(session)
                assert tuple(session.execute(query, isolation).one()) == ("10s", "UTC", "repeatable read")
            with readers.snapshot() as connection:
                assert tuple(connection.execute(query, isolation).one()) == ("10s", "UTC", "repeatable read")
            with sessions() as session:
                assert tuple(session.execute(query, isolation).one()) == ("10s", "UTC", "read committed")
            with readers.moment() as connection:
                assert connection.execute(query, isolation).one()[2] == "read committed"
        readers.close()


def test_a_competition_works_behind_a_pooler(settings: Settings, tmp_path: Path) -> None:
    with pooled(settings, tmp_path, connections=2) as behind, running_service(behind) as service:
        slug = service.competition()
        entries = [service.scored(who, slug, noise_images(10 + seed)) for seed, who in enumerate(("ada", "bob"))]
        assert [entry["status"] for entry in entries] == ["scored"] * 2
        threshold = {"method": "manual", "tau": 0.5, "reason": "half"}
        path = f"/competitions/{slug}/tracks/public/thresholds"
        assert service.call("organizer", "POST", path, json=threshold).status_code == 201
        board = service.call(None, "GET", f"/competitions/{slug}/leaderboard").json()
        assert [place["rank"] for place in board["entries"]] == [1, 2]
        read_at_the_same_time(service, slug)
        upload_at_the_same_time(service, slug)


def read_at_the_same_time(service: Service, slug: str) -> None:
    """Send more requests than the server has connections. No request waits for a second one while it holds one."""
    token = {"Authorization": f"Bearer {service.tokens['organizer']}"}
    pages = [f"/competitions/{slug}{page}" for page in ("", "/review-queue", "/uncertainty", "/insights")]
    board, publication = (f"{API}/competitions/{slug}/{name}" for name in ("leaderboard?format=csv", "publication"))
    change = f"/competitions/{slug}/tracks/public/thresholds"

    def read(number: int) -> None:
        for path in ("/", *pages, board, publication):
            answer = service.http.get(path, headers=token)
            assert answer.status_code == 200, (path, answer.text)
        threshold = {"method": "manual", "tau": 0.1 + number / 100, "reason": "boards must be ranked again"}
        answer = service.call("organizer", "POST", change, json=threshold)
        assert answer.status_code == 201 or answer.json()["type"].endswith(":tau-has-moved"), answer.text

    with ThreadPoolExecutor(8) as readers:
        list(readers.map(read, range(8)))


def upload_at_the_same_time(service: Service, slug: str) -> None:
    """Send more uploads than the server has connections, whole and in resumable pieces. All become entries."""
    tus, barrier = {"Tus-Resumable": "1.0.0"}, Barrier(8)

    def upload(number: int) -> tuple[str, str]:
        who = ("ada", "bob", "eve")[number % 3]
        whole, content = (make_zip(noise_images(seed + number)) for seed in (100, 200))
        barrier.wait()
        answer = service.submit(who, slug, whole)
        assert answer.status_code == 202, answer.text
        headers = tus | {"Upload-Length": str(len(content))}
        answer = service.call(who, "POST", f"/competitions/{slug}/uploads", headers=headers)
        assert answer.status_code == 201, answer.text
        path, half = answer.headers["location"].removeprefix(API), len(content) // 2
        for offset, piece in ((0, content[:half]), (half, content[half:])):
            headers = tus | {"Upload-Offset": str(offset), "Content-Type": "application/offset+octet-stream"}
            answer = service.call(who, "PATCH", path, headers=headers, content=piece)
            assert answer.status_code == 204, answer.text
        return who, answer.headers["kennel-submission"]

    with ThreadPoolExecutor(8) as senders:
        entries = list(senders.map(upload, range(8)))
    service.run_jobs()
    for who, entry in entries:
        assert service.call(who, "GET", f"/submissions/{entry}").json()["status"] == "scored"


def build_environment(settings: Settings) -> dict[str, str]:
    """The environment variables of processes with these settings."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        **addresses(settings),
        "KENNEL_DATABASE_POOLER": "true",
        "KENNEL_WEB_PROCESSES": str(WEB_PROCESSES),
        "KENNEL_WORKER_PROCESSES": str(WORKER_PROCESSES),
        "OMP_NUM_THREADS": "1",
    }


def server_connections(service: Service) -> int:
    """The number of connections that PostgreSQL has for the service's database."""
    count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND client_port > 0"
    with service.context.sessions() as session:
        return int(session.execute(text(count)).scalar_one())


def client_connections(behind: Settings) -> int:
    """The number of client connections that the pooler's console reports."""
    console = make_url(behind.database_url.get_secret_value()).set(drivername="postgresql", database="pgbouncer")
    connection = psycopg2.connect(console.render_as_string())
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("SHOW CLIENTS")
            return len(cursor.fetchall())
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_processes_share_few_connections(settings: Settings, tmp_path: Path) -> None:
    """16 web processes and 64 workers through 60 connections: every entry is scored, and no request fails."""
    port = free_port()
    address = f"http://127.0.0.1:{port}{API}"
    with running_service(settings) as service, pooled(settings, tmp_path, SERVER_CONNECTIONS) as behind:
        slug = service.competition()
        environment = build_environment(behind)
        web = (sys.executable, "-m", "uvicorn", "--factory", "api.main:served_app", "--host", "127.0.0.1")
        queues = "check,uploads,sweep,draw,score,prepare,compare,release,ratings,evidence,recover,rescore"
        worker = (sys.executable, "-m", "celery", "-A", "worker.app", "worker", "-Q", queues, "-l", "warning")
        with (
            process(*web, "--port", str(port), "--workers", str(WEB_PROCESSES), environment=environment) as web_output,
            process(*worker, "--concurrency", str(WORKER_PROCESSES), environment=environment) as worker_output,
            httpx.Client(base_url=address, timeout=120, trust_env=False) as http,
        ):
            wait_until(lambda: web_output().count("Application startup complete") == WEB_PROCESSES, web_output)
            entries = []
            for number in range(60):
                who = ("ada", "bob", "eve")[number % 3]
                answer = http.post(
                    f"/competitions/{slug}/submissions",
                    content=make_zip(noise_images(100 + number)),
                    headers={"Authorization": f"Bearer {service.tokens[who]}"},
                )
                assert answer.status_code == 202, answer.text
                entries.append((who, answer.json()["id"]))

            used, clients = [], []

            def unfinished() -> list[str]:
                used.append(server_connections(service))
                clients.append(client_connections(behind))
                states = []
                for who, entry in entries:
                    token = {"Authorization": f"Bearer {service.tokens[who]}"}
                    states.append(http.get(f"/submissions/{entry}", headers=token).raise_for_status().json()["status"])
                    http.get(f"/competitions/{slug}/leaderboard").raise_for_status()
                assert set(states) <= {"received", "checking", "queued", "scoring", "scored"}
                return [state for state in states if state != "scored"]

            wait_until(lambda: not unfinished(), worker_output)
    assert max(used) <= SERVER_CONNECTIONS + 5, "the pooler's connections, and those of this test"
    assert max(clients) > SERVER_CONNECTIONS, "the pooler shares its connections to the server"
