"""What the parts of ``kennel up`` take over from where it was started: its settings, and not its folder."""

from pathlib import Path

import pytest

from deploy.standalone.data_folder import DataFolder
from deploy.standalone.service import absolute_paths, environment_of_parts, service_children
from scorer.confinement.import_path import IMPORT_PATH
from worker.runtime import device_probe

WORKERS = {"checker", "scorer", "analyst"}


def test_relative_paths_stay_those_of_the_folder_it_was_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_parts_import_the_code_that_started_them(tmp_path: Path) -> None:
    """Uvicorn and Celery would look in the working directory first."""
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
def test_a_working_gpu_has_a_scoring_worker_unless_none_is_wanted(
    asked: dict[str, str], faulty: bool, device: str, workers: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``auto`` is what workers compute on by themselves; a GPU that does not compute is none."""
    monkeypatch.setattr(device_probe, "DRIVER", (tmp_path,))
    monkeypatch.setattr(device_probe, "device_fault", lambda _: "It is lost." if faulty else None)
    environment = environment_of_parts(DataFolder(tmp_path, lock=0), asked, {})
    assert environment["KENNEL_DEVICE"] == device
    children = service_children(environment, tmp_path, 8000)
    assert {child.name for child in children} == {"api", "checker", "beat", *workers}
    started = [
        int(str(child.argv[child.argv.index("--concurrency") + 1])) for child in children if child.name in WORKERS
    ]
    assert environment["KENNEL_WORKER_PROCESSES"] == str(sum(started))


def test_the_operator_counts_worker_processes_of_other_machines_too(tmp_path: Path) -> None:
    asked = {"KENNEL_DEVICE": "cpu", "KENNEL_WORKER_PROCESSES": "9"}
    assert environment_of_parts(DataFolder(tmp_path, lock=0), asked, {})["KENNEL_WORKER_PROCESSES"] == "9"
