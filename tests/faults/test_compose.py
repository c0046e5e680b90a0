"""docker-compose.yml without docker: it is valid, and each of our services' commands runs as a process that finds the
packages of its image and no others.

No docker engine takes part, so images, networks and volumes are not tested here.
"""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import httpx
import pytest
import yaml

from deploy.standalone.ephemeral import Servers
from deploy.standalone.ports import free_port
from scorer.settings import Settings
from tests.faults.image_packages import block_other_packages, packages_of

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
PATIENCE = 60


def command_of(service: str) -> list[str]:
    """What the service runs: its command in the compose file, else its image's CMD."""
    described = COMPOSE["services"][service]
    words = described.get("command") or _image_command(described["build"]["target"])
    return [str(Path(sys.executable).with_name(words[0])), *words[1:]]


def _image_command(target: str) -> list[str]:
    stage = (ROOT / "deploy" / "Dockerfile").read_text().split(f" AS {target}\n")[1].split("\nFROM ")[0]
    line = next(line for line in stage.splitlines() if line.startswith("CMD "))
    words: list[str] = yaml.safe_load(line.removeprefix("CMD "))
    return words


@contextmanager
def running(command: list[str], environment: dict[str, str]) -> Iterator[Any]:
    """The command as a process; ``output()`` is its output so far."""
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )

        def output() -> str:
            log.seek(0)
            return log.read()

        try:
            yield process, output
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def extra_of(service: str) -> str:
    """The extra that the service's image installs: the target of its build has the same name."""
    return str(COMPOSE["services"][service]["build"]["target"])


@pytest.fixture(scope="session")
def blockers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By extra: a folder for PYTHONPATH with which a Python finds the packages of that extra alone."""
    folders = {extra: tmp_path_factory.mktemp(extra) for extra in ("api", "worker")}
    for extra, folder in folders.items():
        block_other_packages(extra, folder)
    return folders


def in_image(service: str, environment: dict[str, str], blockers: dict[str, Path]) -> dict[str, str]:
    """The environment with the packages of the service's image."""
    return environment | {"PYTHONPATH": os.pathsep.join([str(blockers[extra_of(service)]), str(ROOT)])}


@pytest.fixture
def environment(settings: Settings, servers: Servers) -> dict[str, str]:
    """What the compose file sets, with addresses of this test's own servers."""
    set_there = set(COMPOSE["x-settings"]) | {"DATABASE_OWNER_URL"}
    ours = {
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "DATABASE_OWNER_URL": servers.postgres.owner_url,
        "REDIS_URL": settings.redis_url.get_secret_value(),
        "BLOB_URL": settings.blob_url,
        "KENNEL_SCRATCH": str(settings.scratch),
    }
    assert ours.keys() <= set_there
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]} | ours


def wait_for(condition: Any, output: Any, what: str) -> None:
    """Wait until ``found()``; the process's output explains a failure."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"no {what} within {PATIENCE} s:\n{output()}"
        time.sleep(0.1)


def test_every_expected_service_is_there() -> None:
    expected = {"postgres", "redis", "objects", "migrate", "api", "beat", "worker-check", "worker-gpu"}
    assert expected <= set(COMPOSE["services"])


@pytest.mark.parametrize(
    "command",
    [
        ["check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml"],
        ["hadolint", "deploy/Dockerfile"],
    ],
    ids=lambda command: command[0],
)
def test_the_files_are_valid(command: list[str]) -> None:
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_secret_has_a_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    assert "PASSWORD:-" not in text
    assert "SECRET:-" not in text


def test_images_lack_what_their_extra_lacks(blockers: dict[str, Path]) -> None:
    """The other tests mean something: the checking worker's image has no pyarrow, the scoring one's no fastapi."""
    assert {"celery", "fastapi"} <= packages_of("api")
    assert {"celery", "pyarrow", "torch"} <= packages_of("worker")
    for extra, missing in (("api", "pyarrow"), ("api", "torch"), ("api", "onnx"), ("worker", "fastapi")):
        done = subprocess.run(
            [sys.executable, "-c", f"import celery, {missing}"],
            env={"PYTHONPATH": str(blockers[extra])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"No module named '{missing}'" in done.stderr, (extra, missing)


def test_migrate_runs(environment: dict[str, str], blockers: dict[str, Path]) -> None:
    done = subprocess.run(
        command_of("migrate"),
        cwd=ROOT,
        env=in_image("migrate", environment, blockers),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_api_answers(environment: dict[str, str], blockers: dict[str, Path]) -> None:
    port = str(free_port())
    command = [{"8000": port, "0.0.0.0": "127.0.0.1"}.get(word, word) for word in command_of("api")]
    with running(command, in_image("api", environment, blockers)) as (_, output):

        def ready() -> bool:
            try:
                return httpx.get(f"http://127.0.0.1:{port}/api/v1/ready").status_code == 200
            except httpx.TransportError:
                return False

        wait_for(ready, output, "answer")


@pytest.mark.parametrize("service", ["worker-check", "worker-gpu"])
def test_workers_connect(environment: dict[str, str], blockers: dict[str, Path], service: str) -> None:
    with running(command_of(service), in_image(service, environment, blockers)) as (_, output):
        wait_for(lambda: " ready." in output(), output, "worker")


def test_beat_sends_the_sweep(environment: dict[str, str], blockers: dict[str, Path], tmp_path: Path) -> None:
    command = command_of("beat")
    command[command.index("-s") + 1] = str(tmp_path / "beat-schedule")
    command[command.index("warning")] = "info"
    fast = in_image("beat", environment, blockers) | {"KENNEL_SWEEP_SECONDS": "1"}
    with running(command, fast) as (_, output):
        wait_for(lambda: "Sending due task kennel.sweep" in output(), output, f"sweep from {shlex.join(command)}")
