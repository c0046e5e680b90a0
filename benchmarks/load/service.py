"""The service as ``kennel up`` runs it, in a temporary folder, and a competition to load it with."""

import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any
from unittest.mock import patch

import psutil
from sqlalchemy import Engine

import migrations
from benchmarks.harness.seeding import tiny_spec
from deploy.demo.accounts import new_token
from deploy.standalone.child_process import Child
from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.database_roles import APP
from deploy.standalone.log import Log
from deploy.standalone.ports import free_port
from deploy.standalone.postgres import Postgres
from deploy.standalone.redis import Redis
from deploy.standalone.service import ADMIN, HOST, service_children
from deploy.standalone.supervisor import Supervisor
from kennel_client.admin import References
from kennel_client.api import ApiClient
from scorer.confinement.import_path import IMPORT_PATH
from scorer.db.session import Sessions, build_engine, build_sessions
from scorer.settings import Settings, read_settings

WEB, CHECKER, SCORER, BEAT = "api", "checker", "scorer", "beat"
"""The names of the service's parts."""
WEB_APPLICATION = "api.main:served_app"
NO_RATES = '{"request": "1000000/minute"}'
"""A setting for clients with more requests than a visitor may send, or with a clock that jumps."""


@dataclass(frozen=True)
class Workers:
    """The scoring workers of a service: their number, Celery application, environment variables and queues."""

    count: int = 1
    application: str = "worker.app"
    environment: Mapping[str, str] = field(default_factory=dict)
    queues: str | None = None


@dataclass(frozen=True)
class LoadedService:
    port: int
    admin: ApiClient
    settings: Settings
    engine: Engine
    database_admin_url: str

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def sessions(self) -> Sessions:
        return build_sessions(self.engine)

    def processes(self, name: str) -> list[psutil.Process]:
        """The running processes of a part, including children."""
        marks = {WEB: "uvicorn", BEAT: "beat", CHECKER: CHECKER, SCORER: SCORER}
        found = []
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # the process has ended
                found += [process] if any(marks[name] in part for part in process.cmdline()) else []
        return found

    def resident_bytes(self, name: str) -> int:
        total = 0
        for process in self.processes(name):
            with suppress(psutil.Error):
                total += process.memory_info().rss
        return total


@contextmanager
def running_service(
    *names: str, workers: Workers | None = None, web: str = WEB_APPLICATION, durable: bool = True, **environment: str
) -> Iterator[LoadedService]:
    """Run the servers and the parts whose names begin with one of ``names``, or all parts.

    ``web`` makes the web application. If ``durable``, the servers write to disk as in operation. ``environment`` has
    settings.
    """
    with (
        patch.dict(os.environ, environment),
        TemporaryDirectory(prefix="kennel-load-") as name,
        TemporaryFile("w") as log,
        open_data_folder(Path(name)) as data,
        Supervisor(Log(log), hold=[data.lock]) as supervisor,
    ):
        folder = Path(name)
        redis, postgres = Redis(data, durable=durable), Postgres(data, durable=durable)
        redis.start(supervisor)
        postgres.start(supervisor)
        blobs = folder / "blobs"
        blobs.mkdir()
        port = free_port()
        addresses = {
            "DATABASE_URL": postgres.app_url,
            "DATABASE_OWNER_URL": postgres.owner_url,
            "REDIS_URL": redis.url,
            "BLOB_URL": blobs.as_uri(),
            "KENNEL_SCRATCH": str(folder / "scratch"),
            "KENNEL_PUBLIC_URL": f"http://{HOST}:{port}",
            "KENNEL_WORKER_PROCESSES": str(
                3 + (workers or Workers()).count
            ),  # counts a second GPU process and the evidence worker
        }
        settings = read_settings(addresses)
        migrations.upgrade(settings.migration_url, APP)
        everything = {"OMP_WAIT_POLICY": "PASSIVE", **os.environ, "PYTHONPATH": IMPORT_PATH, **addresses}
        token = new_token(settings, ADMIN, "admin")
        engine = build_engine(settings)
        parts = _parts(everything, folder, port, workers=workers or Workers(), web=web)
        with ApiClient(f"http://{HOST}:{port}", token) as admin:
            for part in parts:
                if part.startswith(names or ("",)):
                    supervisor.start(parts[part])
            yield LoadedService(port, admin, settings, engine, postgres.admin_url)
        engine.dispose()


def _parts(environment: Mapping[str, str], folder: Path, port: int, *, workers: Workers, web: str) -> dict[str, Child]:
    """The service's parts by name, with ``workers.count`` scoring workers."""
    parts = {child.name: child for child in service_children(environment, folder, port)}
    parts[WEB] = replace(parts[WEB], argv=[web if part == WEB_APPLICATION else part for part in parts[WEB].argv])
    scorer = parts.pop(SCORER)
    for number in range(workers.count):
        replaced = {"worker.app": workers.application, f"{SCORER}@%h": f"{SCORER}{number}@%h"}
        argv = [replaced.get(str(argument), argument) for argument in scorer.argv]
        if workers.queues is not None:
            argv[argv.index("-Q") + 1] = workers.queues
        own = {**(scorer.env or {}), **workers.environment}
        parts[f"{SCORER}{number}"] = replace(scorer, name=f"{SCORER}{number}", argv=argv, env=own)
    return parts


def open_competition(
    service: LoadedService,
    slug: str,
    references: Mapping[str, bytes],
    *,
    say: Callable[[str], None] = lambda _: None,
    **changes: Any,
) -> None:
    """Open a competition with these references by role, and prepare them with progress to ``say``.

    Its extractor is ``tiny`` unless ``changes`` name others.
    """
    spec = tiny_spec(slug, datetime.now(UTC) - timedelta(days=10), **changes)
    service.admin.post("/competitions", spec.model_dump(mode="json"))
    for role, content in references.items():
        service.admin.attach_references(slug, role, io.BytesIO(content))
    References(service.admin).prepare(slug, say=say, every=0.2)
