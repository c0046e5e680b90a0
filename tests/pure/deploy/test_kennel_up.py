"""``kennel up``: the environment of its processes, its address, and its output."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.standalone import service
from deploy.standalone.data_folder import DataFolder
from deploy.standalone.run import print_greeting
from deploy.standalone.service import absolute_paths, build_environment, service_children
from scorer.confinement.import_path import IMPORT_PATH
from scorer.errors import Unavailable
from worker.runtime import device_probe

WORKERS = {"checker", "scorer", "analyst"}


def test_relative_paths_refer_to_the_folder_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {
        "KENNEL_WEIGHTS_DIR": "weights",
        "DATABASE_PASSWORD_FILE": "secrets/password",
        "UVICORN_SSL_CERTFILE": "/etc/cert.pem",
        "KENNEL_SCRATCH": "",
        "KENNEL_DEVICE": "cpu",
    }
    assert absolute_paths(given) == given | {
        "KENNEL_WEIGHTS_DIR": str(tmp_path / "weights"),
        "DATABASE_PASSWORD_FILE": str(tmp_path / "secrets" / "password"),
    }


def test_child_processes_import_the_code_of_their_parent(tmp_path: Path) -> None:
    """Uvicorn and Celery would otherwise search the working directory first."""
    for child in service_children({"PYTHONPATH": "/other", "KENNEL_DEVICE": "cuda"}, tmp_path, 8000):
        assert child.cwd == Path("/")
        assert child.env is not None
        assert child.env["PYTHONPATH"] == f"{IMPORT_PATH}:/other"


@pytest.mark.parametrize(
    ("asked", "faulty", "device", "workers"),
    [
        ({}, False, "cuda", {"scorer", "analyst"}),
        ({"KENNEL_DEVICE": "auto"}, False, "cuda", {"scorer", "analyst"}),
        ({"KENNEL_DEVICE": "auto"}, True, "auto", {"scorer"}),
        ({"KENNEL_DEVICE": "cuda:1"}, True, "cuda:1", {"scorer", "analyst"}),
        ({"KENNEL_DEVICE": "cpu"}, False, "cpu", {"scorer"}),
    ],
)
def test_a_working_gpu_gets_a_scoring_worker_unless_disabled(
    asked: dict[str, str], faulty: bool, device: str, workers: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``auto``, workers choose their device. A faulty GPU does not count."""
    monkeypatch.setattr(device_probe, "DRIVER", (tmp_path,))
    monkeypatch.setattr(device_probe, "device_fault", lambda _: "It is lost." if faulty else None)
    environment = build_environment(DataFolder(tmp_path, lock=0), asked, {})
    assert environment["KENNEL_DEVICE"] == device
    children = service_children(environment, tmp_path, 8000)
    assert {child.name for child in children} == {"api", "checker", "beat", *workers}
    started = [
        int(str(child.argv[child.argv.index("--concurrency") + 1])) for child in children if child.name in WORKERS
    ]
    assert environment["KENNEL_WORKER_PROCESSES"] == str(sum(started))


def test_the_setting_counts_worker_processes_of_other_machines(tmp_path: Path) -> None:
    asked = {"KENNEL_DEVICE": "cpu", "KENNEL_WORKER_PROCESSES": "9"}
    assert build_environment(DataFolder(tmp_path, lock=0), asked, {})["KENNEL_WORKER_PROCESSES"] == "9"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_sign_in_link_is_shown_on_a_terminal_and_in_no_log(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setattr(service, "sign_in_address", lambda _settings, handle: f"http://kennel/link-of-{handle}")
    running: Any = SimpleNamespace(url="http://kennel", settings=None)
    print_greeting(running, Path("/data"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Kennel is running at http://kennel"
    if terminal:
        assert lines[1:] == [
            "Sign in as admin: http://kennel/link-of-admin",
            "Data: /data (log: /data/kennel.log)",
            "Press Ctrl-C to stop.",
        ]
    else:
        assert lines[1:] == ["For a link to sign in: kennel admin account reset-link admin --data /data"]


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.5"])
def test_an_address_for_other_machines_needs_a_public_url(host: str) -> None:
    with pytest.raises(Unavailable, match="speaks HTTP without TLS") as refused:
        service.require_public_url(host, {})
    assert refused.value.slug == "no-public-url"
    service.require_public_url(host, {"KENNEL_PUBLIC_URL": "https://kennel.example.org"})


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_local_address_needs_no_public_url(host: str) -> None:
    service.require_public_url(host, {})


@pytest.mark.parametrize(("host", "asked"), [("0.0.0.0", "127.0.0.1"), ("10.0.0.5", "10.0.0.5")])
def test_the_web_process_is_polled_at_an_address_that_works(
    host: str, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_is_healthy", lambda url: url == f"http://{asked}:8123/api/v1/ready")
    web = service.service_children({}, tmp_path, 8123, host=host)[0]
    assert web.argv[web.argv.index("--host") + 1] == host
    assert web.ready is not None
    assert web.ready()
