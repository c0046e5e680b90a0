"""The service as processes: servers, web, workers and beat under the supervisor of ``kennel up``."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

import psutil
import psycopg2
from psycopg2.extensions import connection as Connection  # noqa: N812 - a class
from redis import Redis as RedisClient

import migrations
from deploy.demo.accounts import new_token
from deploy.standalone import service
from deploy.standalone.child_process import Child
from deploy.standalone.data_folder import METRICS, open_data_folder
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import MEMORY as MEMORY  # noqa: PLC0414 - for clock_faults
from deploy.standalone.ephemeral import _memory_folder
from deploy.standalone.log import Log
from deploy.standalone.ports import free_port
from deploy.standalone.postgres import Postgres
from deploy.standalone.redis import Redis
from deploy.standalone.supervisor import SupervisedChild, Supervisor
from kennel_client.api import ApiClient
from scorer.monitoring import FOLDER_VARIABLE
from scorer.settings import Settings, read_settings
from tests.faults.rounds.proxy import Proxy

REPOSITORY = Path(__file__).parents[3]
LEASE_SECONDS = 6
"""Short enough for a round, and long enough for a worker on a busy machine."""
SHORTENED = {
    "KENNEL_LEASE_SECONDS": str(LEASE_SECONDS),
    "KENNEL_SWEEP_SECONDS": "1",
    "KENNEL_RETRY_FACTOR": "0.02",
}
RATES = {"KENNEL_RATES": json.dumps({"request": "1000000/minute"})}
DISKS = {"data": "1500m", "blobs": "400m", "scratch": "200m"}
"""By folder: the size of the tmpfs that root mounts there. A fault can fill it."""
ALL_QUEUES = "check,uploads,sweep,draw,score,prepare,compare,release,ratings,evidence,recover,rescore"
WORKERS = ("checker", "scorer", "second")
OWN_PARTS = ("api", *WORKERS, "beat")
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")


def until(condition: Callable[[], Any], what: str, seconds: float) -> Any:
    """Poll until ``condition`` is true and return its value. A ``TimeoutError`` names ``what``."""
    end = time.monotonic() + seconds
    while True:
        if answer := condition():
            return answer
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} s for {what}")
        time.sleep(0.02)


@dataclass
class Stack:
    """A running service. A part that restarts reads its environment from ``environments`` again."""

    folder: Path
    supervisor: Supervisor
    settings: Settings
    database: Proxy
    broker: Proxy
    web: Proxy
    url: str
    admin: ApiClient
    admin_dsn: str
    redis_url: str
    log: Path
    mounted: bool
    environments: dict[str, dict[str, str]] = field(default_factory=dict)
    children: dict[str, Child] = field(default_factory=dict)

    @property
    def client_url(self) -> str:
        """The service's URL for teams, which leads through the proxy."""
        return f"http://127.0.0.1:{self.web.port}"

    def part(self, name: str) -> SupervisedChild:
        return next(part for part in self.supervisor._parts if part.child.name == name)

    def processes(self, name: str) -> list[psutil.Process]:
        """The live processes of a part, parent first."""
        running = self.part(name).running
        if running is None or running.ended.is_set():
            return []
        with suppress(psutil.Error):
            parent = psutil.Process(running.pid)
            return [parent, *parent.children(recursive=True)]
        return []

    def running(self, names: Collection[str]) -> dict[str, int | None]:
        """The process ID of each part, None for parts that do not run."""
        return {name: process.pid if (process := self.part(name).running) is not None else None for name in names}

    def forgive_crashes(self) -> None:
        """Reset the restart delays, because rounds crash parts unusually often."""
        for part in self.supervisor._parts:
            part.restarts._next = part.restarts.first

    def send_signal(self, name: str, signum: signal.Signals, *, parent: bool = True, children: bool = True) -> int:
        """Signal a part's parent process, its children or both. Returns the number of processes."""
        processes = self.processes(name)
        chosen = (processes[:1] if parent else []) + (processes[1:] if children else [])
        for process in chosen:
            with suppress(psutil.Error):
                process.send_signal(signum)
        self.forgive_crashes()
        return len(chosen)

    @contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        """Stop a part's processes (SIGSTOP) during the block."""
        processes = self.processes(name)
        for process in processes:
            with suppress(psutil.Error):
                process.suspend()
        try:
            yield
        finally:
            for process in processes:
                with suppress(psutil.Error):
                    process.resume()

    @contextmanager
    def extra_part(self, child: Child) -> Iterator[None]:
        """Run one more part during the block."""
        self.supervisor.start(child)
        part = self.supervisor._parts[-1]
        try:
            yield
        finally:
            self.supervisor._parts.remove(part)
            self._end(part)

    def _end(self, part: SupervisedChild) -> None:
        part._outcome = "failed"  # its end then counts as requested
        running = part.running
        if running is not None:
            running.kill()
            running.ended.wait(10)

    def connect(self) -> Connection:
        """A superuser's connection that bypasses the proxy and commits every statement."""
        connection = psycopg2.connect(self.admin_dsn, connect_timeout=5)
        connection.autocommit = True
        return connection

    def rows(self, query: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """The rows of a query that bypasses the proxy."""
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute(query, parameters)
                return cursor.fetchall()
        finally:
            connection.close()

    def redis(self) -> RedisClient:
        """A client of the queue server that bypasses the proxy."""
        return RedisClient.from_url(self.redis_url, socket_timeout=5, socket_connect_timeout=5)

    def is_ready(self) -> bool:
        """Whether the web process and its servers answer."""
        try:
            return bool(service._is_healthy(f"{self.url}/api/v1/ready"))
        except OSError:
            return False


@contextmanager
def running_stack(log_file: Path) -> Iterator[Stack]:
    """Run everything in a new folder in memory during the block."""
    with ExitStack() as resources:
        folder = Path(tempfile.mkdtemp(prefix="kennel-faults-", dir=_memory_folder()))
        resources.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o711)
        folders = {name: folder / name for name in DISKS}
        mounted = True
        for name, path in folders.items():
            path.mkdir()
            path.chmod(0o711)
            mounted = mounted and _mount(path, DISKS[name])
            resources.callback(_unmount, path)
        log = resources.enter_context(log_file.open("a", buffering=1))
        yield resources.enter_context(_started(folder, folders, log, log_file, mounted=mounted))


def _mount(path: Path, size: str) -> bool:
    """Mount a tmpfs. False without the permission to."""
    if os.geteuid() != 0:
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0711", "tmpfs", str(path)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def _unmount(path: Path) -> None:
    if path.is_mount():
        subprocess.run(["umount", "--lazy", path], check=False)


@contextmanager
def _started(
    folder: Path, folders: Mapping[str, Path], log: TextIO, log_file: Path, *, mounted: bool
) -> Iterator[Stack]:
    with ExitStack() as resources:
        data = resources.enter_context(open_data_folder(folders["data"]))
        supervisor = resources.enter_context(Supervisor(Log(log), hold=[data.lock]))
        redis, postgres = Redis(data), Postgres(data)
        redis.start(supervisor)
        postgres.start(supervisor)
        database = resources.enter_context(Proxy(postgres.port).running())
        broker = resources.enter_context(Proxy(redis.port).running())
        addresses = {
            "DATABASE_URL": postgres.app_url.replace(f":{postgres.port}/", f":{database.port}/"),
            "DATABASE_OWNER_URL": postgres.owner_url,
            "REDIS_URL": redis.url.replace(f":{redis.port}/", f":{broker.port}/"),
            "BLOB_URL": folders["blobs"].as_uri(),
            "KENNEL_SCRATCH": str(folders["scratch"]),
            FOLDER_VARIABLE: str(data.private_folder(METRICS)),
            "KENNEL_MIN_FREE_BYTES": "1000000",  # the disks of a round are small
        }
        port = free_port()
        environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE", **RATES, **SHORTENED, **addresses}
        # The checks bypass the proxies.
        direct = {**addresses, "DATABASE_URL": postgres.app_url, "REDIS_URL": redis.url, **SHORTENED}
        settings = read_settings(direct)
        migrations.upgrade(settings.migration_url, APP)
        web = resources.enter_context(Proxy(port).running())
        token = new_token(settings, service.ADMIN, "admin")
        url = f"http://{service.HOST}:{port}"
        admin = resources.enter_context(ApiClient(url, token))
        dsn = postgres.url("kennel_admin").replace("+psycopg2", "")
        stack = Stack(
            folder, supervisor, settings, database, broker, web, url, admin, dsn, redis.url, log_file, mounted
        )
        for child in _children(environment, data.path, port):
            stack.environments[child.name] = own = dict(child.env or {})
            stack.children[child.name] = replace(child, env=own)
            supervisor.start(stack.children[child.name])
        yield stack


def _children(environment: Mapping[str, str], data: Path, port: int) -> list[Child]:
    """The service's own processes, and one more worker for all queues, which takes over jobs that another lost."""
    children = service.service_children(environment, data, port)
    scorer = next(child for child in children if child.name == "scorer")
    queues = str(scorer.argv[list(scorer.argv).index("-Q") + 1])
    argv = [str(word).replace(queues, ALL_QUEUES).replace("scorer@%h", "second@%h") for word in scorer.argv]
    return [*children, replace(scorer, name="second", argv=argv)]
