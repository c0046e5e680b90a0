"""A client that openapi-python-client generates from the API's document hands a zip in and reads the board with it."""

import json
import os
import subprocess
import venv
from pathlib import Path

import pytest

from deploy.documentation.operations import openapi
from tests.api.conftest import Service
from tests.factories import noise_images, zip_of
from tests.http_server import serve

ROOT = Path(__file__).parents[3]
GENERATOR = "openapi-python-client==0.29.1"
HOW_TO = ROOT / "docs" / "how-to" / "generate-a-client.md"


@pytest.mark.heavy
def test_a_generated_client_submits_and_reads_the_board(service: Service, tmp_path: Path) -> None:
    """The program is the one of the how-to; the generator has an environment of its own, since it holds others back."""
    slug = service.competition(slug="dogs")
    (tmp_path / "submission.zip").write_bytes(zip_of(noise_images(10)))
    (tmp_path / "openapi.json").write_text(json.dumps(openapi()))
    program = HOW_TO.read_text().partition("```python\n")[2].partition("```")[0]
    assert "leaderboard_get" in program
    python = _environment_of_the_generator(tmp_path / "environment")
    generated = _run(
        *(python, "-m", "openapi_python_client", "generate", "--path", "openapi.json", "--meta", "none"),
        *("--output-path", "kennel_api"),
        folder=tmp_path,
    )
    assert generated.count("Endpoint will not be generated") == 2, generated
    with serve(service.app) as address:
        told = _run(python, "-c", program, folder=tmp_path, KENNEL_URL=address, KENNEL_TOKEN=service.tokens["ada"])
    reference = told.split()[0]
    service.work()
    assert service.call("ada", "GET", f"/submissions/{reference}").json()["status"] == "scored"
    assert service.call("ada", "GET", f"/competitions/{slug}/leaderboard").json()["entries"]


def _environment_of_the_generator(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    _run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", GENERATOR, folder=folder)
    return python


def _run(*command: str, folder: Path, **variables: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr
