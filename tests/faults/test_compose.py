"""Runs the commands of docker-compose.yml as processes, without images.

Each service starts with its own environment and secrets, and only finds the packages of its image.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

import httpx
import pytest
import yaml
from sqlalchemy import make_url

from deploy.standalone.ephemeral import Servers
from deploy.standalone.ports import free_port
from scorer.settings import Settings
from tests.compose.compose_file import MAIN, ROOT, services, without_password
from tests.faults.image_packages import block_other_packages, list_packages

SERVICES = services({"DOMAIN": "kennel.example.org"}, MAIN, "docker-compose.cpu.yml")
"""Without a GPU, which no test needs."""
PATIENCE = 60


def find_command(service: str) -> list[str]:
    """The service's command in the compose file, or its image's CMD if there is none."""
    words = SERVICES[service].get("command") or _image_command(find_extra(service))
    return [str(Path(sys.executable).with_name(words[0])), *words[1:]]


def _image_command(target: str) -> list[str]:
    stage = (ROOT / "deploy" / "Dockerfile").read_text().split(f" AS {target}\n")[1].split("\nFROM ")[0]
    line = next(line for line in stage.splitlines() if line.startswith("CMD "))
    words: list[str] = yaml.safe_load(line.removeprefix("CMD "))
    return words


def find_extra(service: str) -> str:
    """The extra that the service's image installs. The build target has the same name."""
    return str(SERVICES[service]["build"]["target"])


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator[Callable[[], str]]:
    """Run a command as a process, and yield a function that returns its output so far."""
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )

        def output() -> str:
            log.seek(0)
            return log.read()

        try:
            yield output
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="session")
def blockers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By extra: a PYTHONPATH folder that limits a Python to the packages of that extra."""
    folders = {extra: tmp_path_factory.mktemp(extra) for extra in ("api", "worker")}
    for extra, folder in folders.items():
        block_other_packages(extra, folder)
    return folders


@dataclass(frozen=True)
class Installation:
    """Replaces compose's servers and secrets folder with those of this test."""

    settings: Settings
    servers: Servers
    blockers: dict[str, Path]
    folder: Path

    def environment(self, service: str, **changes: str) -> dict[str, str]:
        """A service's variables as the compose file sets them, with the addresses and files of this test."""
        described = SERVICES[service]["environment"]
        addresses = {
            "DATABASE_URL": without_password(self.settings.database_url.get_secret_value()),
            "DATABASE_OWNER_URL": without_password(self.servers.postgres.owner_url),
            "REDIS_URL": without_password(self.settings.redis_url.get_secret_value()),
            "BLOB_URL": self.settings.blob_url,
            "KENNEL_SCRATCH": str(self.settings.scratch),
            "KENNEL_LIVENESS_PATH": str(self.folder / "alive"),
            "PROMETHEUS_MULTIPROC_DIR": str(self.folder),
        }
        here = {name: value.replace("/run/secrets", str(self.folder)) for name, value in described.items()}
        python_path = os.pathsep.join([str(self.blockers[find_extra(service)]), str(ROOT)])
        ours = {name: value for name, value in addresses.items() if name in described}
        return {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "PYTHONPATH": python_path,
            **here,
            **ours,
            **changes,
        }


@pytest.fixture
def installation(settings: Settings, servers: Servers, blockers: dict[str, Path], tmp_path: Path) -> Installation:
    """Writes the secrets of this test's servers to files."""
    owner, application, redis = (
        str(make_url(url).password) for url in (servers.postgres.owner_url, servers.postgres.app_url, servers.redis.url)
    )
    secrets = {"database_owner_password": owner, "database_password": application, "redis_password": redis}
    secrets |= {f"objects_secret_{name}": "" for name in ("api", "check", "draw", "sweep", "cpu", "gpu")}
    secrets |= {"draw_key": "", "smtp_url": "", "oidc_client_secret": "", "metrics_token": ""}
    for name, secret in secrets.items():
        (tmp_path / name).write_text(f"{secret}\n")
    return Installation(settings, servers, blockers, tmp_path)


def wait_for(condition: Callable[[], bool], output: Callable[[], str], what: str) -> None:
    """Wait until the condition is true. A failure shows the process's output."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"no {what} within {PATIENCE} s:\n{output()}"
        time.sleep(0.1)


def test_images_lack_what_their_extra_lacks(blockers: dict[str, Path]) -> None:
    """Shows that the other tests can fail: the `api` packages have no pyarrow, the `worker` packages no fastapi."""
    assert {"celery", "fastapi"} <= list_packages("api")
    assert {"celery", "pyarrow", "torch"} <= list_packages("worker")
    for extra, missing in (("api", "pyarrow"), ("api", "torch"), ("api", "onnx"), ("worker", "fastapi")):
        done = subprocess.run(
            [sys.executable, "-c", f"import celery, {missing}"],
            env={"PYTHONPATH": str(blockers[extra])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"No module named '{missing}'" in done.stderr, (extra, missing)


@pytest.mark.parametrize(
    ("service", "command"),
    [
        ("migrate", None),
        ("api", ["kennel", "migrate", "--wait"]),
        ("api", ["kennel", "admin", "account", "create-admin", "admin"]),
        ("worker-cpu", ["kennel", "weights", "check"]),
    ],
    ids=["migrate", "wait-for-tables", "create-admin", "weights-check"],
)
def test_commands_run(installation: Installation, service: str, command: list[str] | None) -> None:
    words = [str(Path(sys.executable).with_name(command[0])), *command[1:]] if command else find_command(service)
    environment = installation.environment(service)
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout


def test_api_answers(installation: Installation) -> None:
    port = str(free_port())
    command = [{"8000": port, "0.0.0.0": "127.0.0.1"}.get(word, word) for word in find_command("api")]
    with running(command, installation.environment("api")) as output:

        def ready() -> bool:
            try:
                return httpx.get(f"http://127.0.0.1:{port}/api/v1/ready").status_code == 200
            except httpx.TransportError:
                return False

        wait_for(ready, output, "answer")


@pytest.mark.parametrize("service", ["worker-check", "worker-draw", "worker-sweep", "worker-cpu", "worker-gpu"])
def test_workers_connect_and_report_that_they_are_alive(installation: Installation, service: str) -> None:
    with running(find_command(service), installation.environment(service)) as output:
        wait_for(lambda: "this worker is ready" in output(), output, "worker")
        wait_for((installation.folder / "alive").exists, output, "sign of life")


def test_beat_sends_the_sweep_and_reports_that_it_is_alive(installation: Installation) -> None:
    command = find_command("beat")
    command[command.index("-s") + 1] = str(installation.folder / "beat-schedule")
    with running(
        command, installation.environment("beat", KENNEL_SWEEP_SECONDS="1", KENNEL_LOG_LEVEL="DEBUG")
    ) as output:
        wait_for(lambda: "Sending due task kennel.sweep" in output(), output, f"sweep from {shlex.join(command)}")
        wait_for((installation.folder / "alive").exists, output, "sign of life")
