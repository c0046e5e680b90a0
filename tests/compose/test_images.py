"""The images built from deploy/Dockerfile, with every service of docker-compose.yml: an entry is scored over TLS.

:mod:`tests.compose.engine` replaces docker. It needs root and the Debian packages of ``PROGRAMS``. One test uses docker
if its engine runs.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import pytest

from deploy.demo.accounts import new_token
from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.service import ADMIN, start_service
from deploy.standalone.supervisor import Supervisor
from scorer.accounts import accounts, api_tokens
from scorer.db.session import connected
from tests.compose import images
from tests.compose.client import compete as compete_at
from tests.compose.compose_file import ROOT
from tests.compose.docker import Docker
from tests.compose.engine import CLIENT, Engine

PROGRAMS = ("buildah", "mmdebstrap", "caddy", "redis-cli", "aws", "ip", "nsenter", "unshare")
DOMAIN = "kennel.test"
VARIABLES = {"DOMAIN": DOMAIN, "CADDY_TLS": "tls internal"}
SPOOFED = "203.0.113.9"
PARTICIPANT = "a-participant-s-token"
CALL = """
import urllib.request
urllib.request.urlopen(urllib.request.Request("http://api:8000/api/v1/health", headers={"X-Forwarded-For": "%s"}))
"""
WORKERS = ("worker-check", "worker-draw", "worker-sweep", "worker-cpu", "worker-gpu")
STOPPED = {"proxy": 0, **dict.fromkeys(reversed(WORKERS), 0), "beat": 0, "api": 143}
"""Exit statuses after SIGTERM. uvicorn ends with the signal after it has finished its requests."""

REQUIRED = os.environ.get("IMAGE_TESTS")
"""``any``: tests fail if neither docker nor its replacement can run. Otherwise they skip."""

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture
def stand_in() -> None:
    """Skip the test if a program that replaces docker is missing."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        why = f"needs {', '.join(PROGRAMS)}; missing: {', '.join(missing)}"
        if REQUIRED and not images.docker_answers():
            pytest.fail(why)
        pytest.skip(why)


def test_the_size_of_an_image_is_printed_when_docker_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\nif [ "$1" = images ]; then echo 740MB; fi\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    images.main(["api"])
    assert capsys.readouterr().out.startswith("kennel-api: 740MB, ")


def compete(engine: Engine | Docker, domain: str) -> None:
    """Start every service, score an entry and run the doctor."""
    engine.start_all()
    tokens = []
    for words in (("create-admin", "admin"), ("create", "ada", "--name", "Ada")):
        made = engine.execute("api", "kennel", "admin", "account", *words)
        assert made.returncode == 0, made.stderr
        tokens.append(made.stdout.strip())
    seen = engine.client("tests.compose.client", f"https://{domain}", *tokens)
    assert seen.returncode == 0, seen.stderr
    answer = json.loads(seen.stdout)
    assert [measurement["track"] for measurement in answer["entry"]["measurements"]] == ["public", "private"]
    assert [place["team"] for place in answer["board"]["entries"]] == [answer["entry"]["team"]]
    doctor = engine.execute("worker-check", "kennel", "admin", "installation", "doctor", "--json")
    wrong = [check for check in json.loads(doctor.stdout) if check["state"] == "wrong"]
    # Only the client's container knows the authority of the proxy's certificate.
    assert [check for check in wrong if check["name"] != "public address"] == []


def compete_in_images(targets: dict[str, str]) -> None:
    """Score an entry in Kennel's images, check the compose file's restrictions, and stop every service."""
    for target in sorted(set(targets.values())):
        images.build(target)
    with Engine(VARIABLES, targets) as engine:
        compete(engine, DOMAIN)
        assert_addresses_are_believed(engine)
        assert_nothing_can_be_written(engine)
        stopped = {name: engine.stop(name) for name in STOPPED}
        assert stopped == STOPPED


def assert_addresses_are_believed(engine: Engine) -> None:
    """The web process takes visitors' addresses from the proxy and from nobody else."""
    assert engine.execute("worker-check", "python", "-c", CALL % SPOOFED).returncode == 0
    log = engine.running["api"].output()
    assert engine.address(CLIENT, "edge") in log
    assert engine.address("worker-check", "inner") in log
    assert SPOOFED not in log


def assert_nothing_can_be_written(engine: Engine) -> None:
    """Only volumes and folders in memory are writable, and processes have no capabilities."""
    for name in ("api", "beat", *WORKERS):
        assert engine.execute(name, "touch", "/tmp/here").returncode == 0
        assert "Read-only file system" in engine.execute(name, "touch", "/srv/here").stderr
        sets = re.findall(r"Cap(?:Prm|Eff|Bnd):\t(\w+)", engine.process_status(name))
        assert {int(digits, 16) for digits in sets} == {0}, name
    assert "Read-only file system" in engine.execute("worker-gpu", "touch", "/weights/here").stderr


@pytest.mark.root
@pytest.mark.usefixtures("stand_in")
def test_an_entry_is_scored_in_the_small_image() -> None:
    """The extractor ``tiny`` needs no torch, so the small image can score. The worker image has gigabytes."""
    compete_in_images({"api": "api", "worker": "api"})


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.usefixtures("stand_in")
def test_an_entry_is_scored_in_both_images() -> None:
    compete_in_images({"api": "api", "worker": "worker"})


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.usefixtures("stand_in")
def test_a_backup_of_kennel_up_is_restored_into_the_containers() -> None:
    backups = Path(mkdtemp(prefix="kennel-backups-"))
    try:
        token, before = back_up_standalone(backups)
        subprocess.run(["chmod", "--recursive", "a+rX", str(backups)], check=True)
        images.build("api")
        with Engine({**VARIABLES, "BACKUPS_DIR": str(backups)}, {"api": "api", "worker": "api"}) as engine:
            engine.start_all()
            assert "is restored" in engine.run("backup", "kennel", "admin", "installation", "restore", "/backups")
            for name in ("api", *WORKERS):
                engine.stop(name)
                engine.start(name)
                engine.wait_for(name, "service_healthy")
            seen = engine.client("tests.compose.client", f"https://{DOMAIN}", token, PARTICIPANT, before["slug"])
            assert seen.returncode == 0, seen.stderr
            after = json.loads(seen.stdout)
            assert after["board"] == before["board"]
            assert [measurement["track"] for measurement in after["entry"]["measurements"]] == ["public", "private"]
    finally:
        shutil.rmtree(backups)


def back_up_standalone(backups: Path) -> tuple[str, dict[str, Any]]:
    """Run a competition in a service like that of ``kennel up``, back it up, and return the admin's token and the
    result."""
    with (
        TemporaryDirectory(prefix="kennel-compose-") as folder,
        open_data_folder(Path(folder)) as data,
        Supervisor(Log(None), hold=[data.lock]) as supervisor,
    ):
        running = start_service(supervisor, data, durable=False)
        token = new_token(running.settings, ADMIN, "admin")
        with connected(running.settings) as sessions, sessions.begin() as session:
            now = datetime.now(UTC)
            ada = accounts.create_account(session, handle="ada", name="Ada", role="participant", now=now)
            api_tokens.issue(session, ada, PARTICIPANT, name="compose", now=now)
        seen = compete_at(running.url, token, PARTICIPANT)
        kennel = [sys.executable, "-c", "from deploy.cli.main import main; main()"]
        command = [*kennel, "admin", "installation", "backup", str(backups), "--data", str(data.path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return token, seen


@pytest.mark.slow
@pytest.mark.skipif(not images.docker_answers(), reason="needs docker")
def test_an_entry_is_scored_by_docker(tmp_path: Path) -> None:
    with Docker(tmp_path) as docker:
        compete(docker, docker.domain)
