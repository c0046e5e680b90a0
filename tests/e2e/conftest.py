"""The whole service as real processes: web, broker, database, workers, beat."""

import os
import shutil
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

import pytest

from deploy.standalone import service
from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.ports import free_port
from deploy.standalone.supervisor import Supervisor
from kennel_client.api import ApiClient
from scorer.settings import Settings
from tests.e2e.collector import Collector, collector

ADDRESS = "127.0.0.2"
"""Another one than ``kennel up`` listens on by itself."""
MISSPELT = "KENNEL_SMTP_URI"
"""A setting that there is not."""


@dataclass(frozen=True)
class RunningService:
    """A running service and its admin."""

    url: str
    admin: ApiClient
    log: Path
    settings: Settings
    collector: Collector
    """Where its processes send their traces."""


@pytest.fixture(scope="session")
def live() -> Iterator[RunningService]:
    """A service that runs as long as the test run, started in a folder with modules of its packages' names."""
    folder = Path(mkdtemp(prefix="kennel-e2e-"))
    foreign = Path(mkdtemp(prefix="kennel-e2e-foreign-"))
    for name in ("api", "deploy", "migrations", "scorer", "worker"):
        (foreign / f"{name}.py").write_text("raise ImportError('a foreign package of the same name')")
    log_file = folder.with_suffix(".log")
    try:
        with (
            log_file.open("w") as log,
            open_data_folder(folder) as data,
            collector() as traces,
            Supervisor(Log(log), hold=[data.lock]) as supervisor,
        ):
            variables = {"KENNEL_TRACES_ENDPOINT": traces.endpoint, "OTEL_BSP_SCHEDULE_DELAY": "200", MISSPELT: "x"}
            variables["KENNEL_LOG_FORMAT"] = "json"
            port = free_port(ADDRESS)
            variables["KENNEL_PUBLIC_URL"] = f"http://{ADDRESS}:{port}"
            with chdir(foreign):
                running = service.start_service(
                    supervisor, data, host=ADDRESS, port=port, environ={**os.environ, **variables}, durable=False
                )
            assert running.new_admin_token is not None
            with ApiClient(running.url, running.new_admin_token) as admin:
                yield RunningService(running.url, admin, log_file, running.settings, traces)
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(foreign)
        log_file.unlink()
