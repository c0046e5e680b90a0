"""The systemd units of ``kennel admin installation service``: their settings, and an entry scored by their commands."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
from sqlalchemy import make_url
from typer.testing import CliRunner

from deploy.cli import admin_installation
from deploy.standalone.ephemeral import Servers
from deploy.standalone.ports import free_port
from deploy.systemd import CACHE, CONFIGURATION, STATE, Plan, build_files, build_processes
from scorer.confinement.import_path import IMPORT_PATH
from scorer.lifecycle import Queue
from scorer.settings import Settings
from tests.compose.compose_file import MAIN, services, without_password
from tests.documents import ROOT

PATIENCE = 120
PLAN = Plan(gpus=1, port=8000, user="kennel")
DROP_IN = {"KENNEL_DEVICE": "cpu"}
"""Additional variables for GPU units, because the tests' machine may have no GPU."""
METRICS_TOKEN = "a-token-for-prometheus"


class Unit:
    """A parsed unit file. A key may occur several times."""

    def __init__(self, text: str) -> None:
        self.lines = [line.split("=", 1) for line in text.splitlines() if "=" in line]

    def all(self, key: str) -> list[str]:
        """The values of a key in order."""
        return [value for name, value in self.lines if name == key]

    def one(self, key: str) -> str:
        """The only value of a key."""
        (value,) = self.all(key)
        return value


def units(plan: Plan = PLAN) -> dict[str, Unit]:
    """All services, by name without suffix."""
    return {
        name.removesuffix(".service"): Unit(text)
        for name, text in build_files(plan).items()
        if name.endswith(".service")
    }


def parse_queues(unit: Unit) -> list[str]:
    """The queues of a worker's command."""
    words = shlex.split(unit.one("ExecStart"))
    return words[words.index("-Q") + 1].split(",") if "-Q" in words else []


@pytest.mark.parametrize("gpus", [0, 1, 8])
def test_every_queue_has_its_worker_once(gpus: int) -> None:
    taken = [queue for unit in units(Plan(gpus, 8000, "kennel")).values() for queue in parse_queues(unit)]
    assert sorted(taken) == sorted([*Queue, "sweep", "uploads"])


def test_each_gpu_has_a_worker_of_its_own() -> None:
    files = build_files(Plan(8, 8000, "kennel"))
    unit = Unit(files["kennel-gpu@.service"])
    assert "KENNEL_DEVICE=cuda:%i" in unit.all("Environment")
    assert unit.one("PrivateDevices") == "no"
    wanted = Unit(files["kennel.target"]).one("Wants").split()
    assert [name for name in wanted if "gpu" in name] == [f"kennel-gpu@{index}.service" for index in range(8)]
    assert "KENNEL_WORKER_PROCESSES=22\n" in files["kennel.env"]
    assert "kennel-score.service" not in files


def test_workers_share_the_cores_with_gpu_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(48)))

    def threads(gpus: int) -> dict[str, list[str]]:
        written = units(Plan(gpus, 8000, "kennel"))
        lines = {name: unit.all("Environment") for name, unit in written.items()}
        return {name: [line for line in found if line.startswith("OMP_")] for name, found in lines.items()}

    assert {name: found for name, found in threads(4).items() if found} == {
        "kennel-cpu": ["OMP_NUM_THREADS=24"],
        "kennel-gpu@": ["OMP_NUM_THREADS=3"],
    }
    assert not any(threads(0).values()), "the scoring worker uses all cores"


def test_units_are_hardened_and_limited() -> None:
    for name, unit in units(Plan(2, 8000, "kennel")).items():
        assert unit.one("User") == "kennel", name
        for key, value in {"NoNewPrivileges": "yes", "ProtectSystem": "strict", "PrivateTmp": "yes"}.items():
            assert unit.one(key) == value, name
        assert unit.one("CapabilityBoundingSet") == "", name
        assert unit.one("MemoryMax"), name
        assert unit.one("KillMode") == "mixed", name
        assert unit.one("PrivateDevices") == ("no" if "gpu" in name else "yes")
        assert (unit.one("Type") == "oneshot") == (name == "kennel-migrate")
        assert (unit.all("Restart") == ["always"]) == (name != "kennel-migrate")


def test_secrets_memory_and_time_to_stop_are_those_of_the_compose_file() -> None:
    """A unit has the same secrets and limits as its container."""
    composed = services({"DOMAIN": "kennel.example.org"}, MAIN)
    twins = {"kennel-web": "api", "kennel-beat": "beat", "kennel-check": "worker-check", "kennel-cpu": "worker-cpu"}
    twins |= {"kennel-sweep": "worker-sweep", "kennel-draw": "worker-draw"}
    twins |= {"kennel-gpu@": "worker-gpu", "kennel-migrate": "migrate"}
    assert {process.name for process in build_processes(Plan(1, 8000, "kennel"))} == set(twins)
    for process in build_processes(Plan(1, 8000, "kennel")):
        container = composed[twins[process.name]]
        assert set(process.files) == set(container["secrets"]), process.name
        assert process.memory.lower() == str(container["mem_limit"]).lower(), process.name
        if grace := container.get("stop_grace_period"):
            assert process.stop_seconds == int(grace[:-1]) * {"s": 1, "m": 60}[grace[-1]], process.name


def test_metrics_share_a_folder_that_starts_empty() -> None:
    """systemd creates a unit's folder when it starts and removes it when it stops.

    The migration's unit starts before all others and stops after them.
    """
    written = units(Plan(2, 8000, "kennel"))
    migration = written.pop("kennel-migrate")
    folder = f"%t/{migration.one('RuntimeDirectory')}"
    assert migration.one("RemainAfterExit") == "yes"
    assert "RuntimeDirectoryPreserve" not in dict(migration.lines)
    for name, unit in written.items():
        assert f"PROMETHEUS_MULTIPROC_DIR={folder}" in unit.all("Environment"), name
        assert unit.one("ReadWritePaths") == folder, name
        assert unit.one("Requires") == "kennel-migrate.service", name
        assert "kennel-migrate.service" in unit.one("After").split(), name


def test_secrets_are_on_no_command_line_and_in_no_variable() -> None:
    for unit in units().values():
        named = dict(line.split("=", 1) for line in unit.all("Environment"))
        given = {line.split(":")[0] for line in unit.all("LoadCredential")}
        assert {Path(value).name for name, value in named.items() if name.endswith("_FILE")} == given
        assert all(value.startswith("%d/") for name, value in named.items() if name.endswith("_FILE"))


def test_the_command_writes_the_files(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        admin_installation.app, ["service", str(tmp_path / "units"), "--gpus", "2", "--user", "scoring"]
    )
    assert done.exit_code == 0, done.output
    assert {path.name for path in (tmp_path / "units").iterdir()} == set(build_files(Plan(2, 8000, "scoring")))
    assert Unit((tmp_path / "units" / "kennel-web.service").read_text()).one("User") == "scoring"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("gpus", [0, 2])
def test_systemd_accepts_the_units(gpus: int, tmp_path: Path) -> None:
    for name, text in build_files(Plan(gpus, 8000, "root")).items():
        (tmp_path / name.replace("gpu@.", "gpu@0.")).write_text(text)
    files = sorted(path for path in tmp_path.iterdir() if path.suffix != ".env")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@dataclass(frozen=True)
class Host:
    """A machine with the units' servers. It replaces specifiers and files as systemd does."""

    folder: Path
    settings: Mapping[str, str]

    def environment(self, unit: Unit) -> dict[str, str]:
        """The variables of a unit's process. Variables in kennel.env override its own."""
        own = dict(self.resolved(line).split("=", 1) for line in unit.all("Environment"))
        bare = {name: os.environ[name] for name in ("PATH", "HOME")}
        drop_in = DROP_IN if unit.one("PrivateDevices") == "no" else {}
        return {**bare, "PYTHONPATH": IMPORT_PATH, **own, **self.settings, **drop_in}

    def command(self, unit: Unit) -> list[str]:
        """The command of a unit, with the values of its variables."""
        variables = self.environment(unit)
        words = shlex.split(self.resolved(unit.one("ExecStart")))
        return [re.sub(r"\$\{(\w+)\}", lambda named: variables[named[1]], word) for word in words]

    def resolved(self, text: str) -> str:
        """The text with specifiers replaced. The only instance of a template is 0."""
        for specifier, value in {"%t": self.folder / "run", "%d": self.folder / "secrets", "%i": 0}.items():
            text = text.replace(specifier, str(value))
        return text.replace("%%", "%")


@pytest.mark.parametrize(("settings", "processes"), [({}, "1"), ({"KENNEL_WEB_PROCESSES": "3"}, "3")])
def test_kennel_env_sets_the_number_of_web_processes(settings: dict[str, str], processes: str, tmp_path: Path) -> None:
    command = Host(tmp_path, settings).command(units()["kennel-web"])
    assert command[command.index("--workers") + 1] == processes


@pytest.fixture
def host(settings: Settings, servers: Servers, tmp_path: Path) -> Host:
    """The machine with the units' secrets and folders, and with this test's addresses in kennel.env."""
    passwords = {
        "database_owner_password": str(make_url(servers.postgres.owner_url).password),
        "database_password": str(make_url(servers.postgres.app_url).password),
        "redis_password": str(make_url(servers.redis.url).password),
    }
    (tmp_path / "secrets").mkdir()
    for name in {"objects_secret_backup", *(name for process in build_processes(PLAN) for name in process.files)}:
        (tmp_path / "secrets" / name).write_text(passwords.get(name, ""))
    (tmp_path / "secrets" / "metrics_token").write_text(METRICS_TOKEN)
    database = str(make_url(settings.database_url.get_secret_value()).database)
    owner = make_url(servers.postgres.owner_url).set(database=database).render_as_string(hide_password=False)
    for folder in {folder for unit in units().values() for folder in unit.all("RuntimeDirectory")}:
        (tmp_path / "run" / folder).mkdir(parents=True)
    values = dict(line.split("=", 1) for line in build_files(PLAN)["kennel.env"].splitlines())
    here = {name: value.replace(STATE, str(tmp_path)).replace(CACHE, str(tmp_path)) for name, value in values.items()}
    here |= {
        "DATABASE_URL": without_password(settings.database_url.get_secret_value()),
        "DATABASE_OWNER_URL": without_password(owner),
        "REDIS_URL": without_password(settings.redis_url.get_secret_value()),
        "KENNEL_SWEEP_SECONDS": "3",
    }
    return Host(tmp_path, here)


@contextmanager
def started(host: Host, written: Mapping[str, Unit]) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Run the migration, then start every unit's process. All are killed at the end."""
    migration = written["kennel-migrate"]
    done = subprocess.run(
        host.command(migration),
        env=host.environment(migration),
        cwd=host.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    processes: dict[str, subprocess.Popen[str]] = {}
    try:
        for name, unit in written.items():
            if name == "kennel-migrate":
                continue
            with (host.folder / f"{name}.log").open("w") as log:
                processes[name] = subprocess.Popen(
                    host.command(unit),
                    env=host.environment(unit),
                    cwd=host.folder,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    text=True,
                    start_new_session=True,
                )
        yield processes
    finally:
        for process in processes.values():
            with ExitStack() as ended:
                ended.callback(process.wait)
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


def end_all(processes: Mapping[str, subprocess.Popen[str]], plan: Plan, host: Host) -> None:
    """Stop all processes as systemd does, and check that each ends within its unit's time limit."""
    for process in processes.values():
        process.send_signal(signal.SIGTERM)
    limits = {process.name: process.stop_seconds for process in build_processes(plan)}
    ended = {process.wait(limits[name]) for name, process in processes.items()}
    assert ended <= {0, -signal.SIGTERM}, logs(host)  # systemd accepts both as a clean exit


def logs(host: Host) -> str:
    """The output of all processes."""
    return "\n".join(f"{path.name}\n{path.read_text()[-2000:]}" for path in host.folder.glob("*.log"))


def wait_until_ready(url: str, host: Host) -> None:
    """Wait until the web process reports that it is ready."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if httpx.get(f"{url}/readyz").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < end, logs(host)
        time.sleep(0.1)


def wait_for_metrics(url: str, host: Host, *lines: str) -> None:
    """Wait until the metrics have these lines. A worker counts a job shortly after it has written its last row."""
    end = time.monotonic() + PATIENCE
    while True:
        metrics = httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"}).text
        if set(lines) <= set(metrics.splitlines()):
            return
        assert time.monotonic() < end, metrics + logs(host)
        time.sleep(0.1)


@pytest.mark.timeout(600)  # on a busy machine, its waits add up to more than the default timeout
def test_the_units_processes_score_an_entry_and_end_on_sigterm(host: Host) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with started(host, units(replace(PLAN, port=port))) as processes:
        wait_until_ready(url, host)
        operator = dict(line.split("=", 1) for line in build_files(PLAN)["operator.env"].splitlines())
        variables = {
            **host.environment(units()["kennel-web"]),
            **{name: value.replace(CONFIGURATION, str(host.folder)) for name, value in operator.items()},
            "KENNEL_PUBLIC_URL": url,
        }
        kennel = str(Path(sys.executable).with_name("kennel"))
        words = (("create-admin", "admin"), ("create", "ada", "--name", "Ada"))
        tokens = [_run(variables, kennel, "admin", "account", *arguments).strip() for arguments in words]
        answer = json.loads(_run(variables, sys.executable, "-m", "tests.compose.client", url, *tokens))
        assert [measurement["track"] for measurement in answer["entry"]["measurements"]] == ["public", "private"]
        wait_for_metrics(url, host, "kennel_uploads_total 1.0", 'kennel_jobs_total{outcome="done",queue="score"} 2.0')
        examined = json.loads(_run(variables, kennel, "admin", "installation", "doctor", "--json", codes=(0, 1)))
        wrong = {check["name"]: check["finding"] for check in examined if check["state"] == "wrong"}
        assert set(wrong) == {"durability"}, wrong
        assert next(check for check in examined if check["name"] == "workers")["finding"].startswith("5 are running,")
        end_all(processes, PLAN, host)


def test_without_a_gpu_the_scoring_process_starts_and_ends_on_command(host: Host) -> None:
    plan = replace(PLAN, gpus=0)
    written = units(plan)
    with started(host, {name: written[name] for name in ("kennel-migrate", "kennel-score")}) as processes:
        until = time.monotonic() + PATIENCE
        while "this worker is ready for the queues score, prepare, compare, rescore" not in logs(host):
            assert time.monotonic() < until, logs(host)
            assert processes["kennel-score"].poll() is None, logs(host)
            time.sleep(0.1)
        end_all(processes, plan, host)


def _run(variables: Mapping[str, str], *command: str, codes: tuple[int, ...] = (0,)) -> str:
    """Run an operator's command and return its output."""
    done = subprocess.run(command, env=variables, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in codes, done.stdout + done.stderr
    return done.stdout
