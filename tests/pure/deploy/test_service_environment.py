"""What the parts of ``kennel up`` take over from where it was started: its settings, and not its folder."""

from pathlib import Path

import pytest

from deploy.standalone.service import absolute_paths, service_children
from scorer.confinement.import_path import IMPORT_PATH


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
