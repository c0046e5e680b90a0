"""The images, built from deploy/Dockerfile, and every service of docker-compose.yml run from inside of them: an entry
is scored from end to end through the proxy, by TLS.

:mod:`tests.compose.engine` stands in for docker; as root, with Debian's packages of ``PROGRAMS``. Where docker answers,
one test uses that.
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
STOPPED = {"proxy": 0, "worker-gpu": 0, "worker-cpu": 0, "worker-sweep": 0, "worker-check": 0, "beat": 0, "api": 143}
"""Exit statuses after SIGTERM; uvicorn ends by the signal once it has ended its requests."""

REQUIRED = os.environ.get("IMAGE_TESTS")
"""``any``: tests fail where neither docker nor its stand-in can run. Else they skip."""

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture
def stand_in() -> None:
    """What docker's stand-in needs."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        why = f"needs {', '.join(PROGRAMS)}: there is no {', '.join(missing)}"
        if REQUIRED and not images.docker_answers():
            pytest.fail(why)
        pytest.skip(why)


def test_the_size_of_an_image_is_told_also_where_docker_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\nif [ "$1" = images ]; then echo 740MB; fi\n')
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    images.main(["api"])
    assert capsys.readouterr().out.startswith("kennel-api: 740MB, ")


def compete(engine: Engine | Docker, domain: str) -> None:
    """Start everything and have an entry scored."""
    engine.start_all()
    tokens = []
    for words in (("create-admin", "admin"), ("create", "ada", "--name", "Ada")):
        made = engine.execute("api", "kennel", "admin", "account", *words)
        assert made.returncode == 0, made.stderr
        tokens.append(made.stdout.strip())
    seen = engine.client("tests.compose.client", f"https://{domain}", *tokens)
    assert seen.returncode == 0, seen.stderr
    answer = json.loads(seen.stdout)
    assert [each["track"] for each in answer["entry"]["measurements"]] == ["public", "private"]
    assert [place["team"] for place in answer["board"]["entries"]] == [answer["entry"]["team"]]
    doctor = engine.execute("worker-check", "kennel", "admin", "installation", "doctor", "--json")
    wrong = [each for each in json.loads(doctor.stdout) if each["state"] == "wrong"]
    # The proxy's certificate is its own, and no container but the client's knows who has signed it.
    assert [each for each in wrong if each["name"] != "public address"] == []


def compete_in_images(targets: dict[str, str]) -> None:
    """Score an entry in images of ours, see that the compose file's walls stand, and stop everything."""
    for target in sorted(set(targets.values())):
        images.build(target)
    with Engine(VARIABLES, targets) as engine:
        compete(engine, DOMAIN)
        assert_addresses_are_believed(engine)
        assert_nothing_can_be_written(engine)
        stopped = {name: engine.stop(name) for name in STOPPED}
        assert stopped == STOPPED


def assert_addresses_are_believed(engine: Engine) -> None:
    """The web process knows visitors behind the proxy by address, and takes nobody else's word."""
    assert engine.execute("worker-check", "python", "-c", CALL % SPOOFED).returncode == 0
    log = engine.running["api"].output()
    assert engine.address(CLIENT, "edge") in log
    assert engine.address("worker-check", "inner") in log
    assert SPOOFED not in log


def assert_nothing_can_be_written(engine: Engine) -> None:
    """But volumes and folders in memory; and processes have no capabilities."""
    for name in ("api", "beat", "worker-check", "worker-sweep", "worker-cpu", "worker-gpu"):
        assert engine.execute(name, "touch", "/tmp/here").returncode == 0
        assert "Read-only file system" in engine.execute(name, "touch", "/srv/here").stderr
        sets = re.findall(r"Cap(?:Prm|Eff|Bnd):\t(\w+)", engine.process_status(name))
        assert {int(each, 16) for each in sets} == {0}, name
    assert "Read-only file system" in engine.execute("worker-gpu", "touch", "/weights/here").stderr


@pytest.mark.root
@pytest.mark.usefixtures("stand_in")
def test_an_entry_is_scored_in_the_small_image() -> None:
    """The extractor ``tiny`` needs no torch, so the image without it scores, too: the workers' has gigabytes."""
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
            for name in ("api", "worker-check", "worker-sweep", "worker-cpu", "worker-gpu"):
                engine.stop(name)
                engine.start(name)
                engine.wait_for(name, "service_healthy")
            seen = engine.client("tests.compose.client", f"https://{DOMAIN}", token, PARTICIPANT, before["slug"])
            assert seen.returncode == 0, seen.stderr
            after = json.loads(seen.stdout)
            assert after["board"] == before["board"]
            assert [each["track"] for each in after["entry"]["measurements"]] == ["public", "private"]
    finally:
        shutil.rmtree(backups)


def back_up_standalone(backups: Path) -> tuple[str, dict[str, Any]]:
    """Hold a competition in a service as ``kennel up`` runs it and back it up; its admin's token, and what was seen."""
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
