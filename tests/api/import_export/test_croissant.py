"""The Croissant metadata of a data release matches its files; mlcroissant, pandas and datasets can read it."""

import io
import json
import os
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

from scorer.import_export.release_columns import TABLES
from tests.api.conftest import Service
from tests.api.import_export.files import content, release
from tests.documents import ROOT
from tests.factories import noise_images

READERS = ("mlcroissant==1.1.1", "pandas", "datasets")
HOW_TO = ROOT / "docs" / "how-to" / "publish-and-release.md"


@pytest.fixture
def slug(service: Service) -> str:
    """A closed competition with an entry."""
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    service.close(slug)
    return slug


def test_the_metadata_describes_all_files_and_columns(service: Service, slug: str) -> None:
    made = release(service, slug, images="all")
    metadata = json.loads(content(service, slug, made, "croissant.json"))
    listed = {file["name"]: (file["contentSize"], file["sha256"]) for file in metadata["distribution"]}
    without = {"croissant.json", "manifest.json", "tables.zip"}
    assert listed == {
        file["name"]: (f"{file['bytes']} B", file["sha256"]) for file in made["files"] if file["name"] not in without
    }
    described = {
        record_set["name"]: [field["name"] for field in record_set["field"]] for record_set in metadata["recordSet"]
    }
    assert described == {table: [column.name for column in columns] for table, columns in TABLES.items()}
    assert {"application/zip", "application/x-parquet"} <= {file["encodingFormat"] for file in metadata["distribution"]}


@pytest.mark.slow
def test_libraries_read_a_release_as_in_the_how_to(service: Service, slug: str, tmp_path: Path) -> None:
    """The libraries have their own environment. mlcroissant reports faults of the metadata as errors."""
    packed = content(service, slug, release(service, slug, images="none"), "tables.zip")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path)
    venv.create(tmp_path / "environment", with_pip=True)
    python = str(tmp_path / "environment" / "bin" / "python")
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *READERS, folder=tmp_path)
    program = HOW_TO.read_text().partition('```python title="read_release.py"\n')[2].partition("```")[0]
    assert "mlcroissant" in program
    assert "2 2 1" in _run(python, "-c", program, folder=tmp_path).splitlines()
    validator = str(tmp_path / "environment" / "bin" / "mlcroissant")
    checked = _run(validator, "validate", "--jsonld", "croissant.json", folder=tmp_path)
    assert "ERROR" not in checked


def _run(*command: str, folder: Path) -> str:
    own = {"HOME": str(folder), "HF_HUB_OFFLINE": "1"}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | own
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
