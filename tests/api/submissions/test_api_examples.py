"""The examples of the how-to on the API submit a zip and see its score: curl, Python, GitHub Actions."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.api.cli_runner import working_worker
from tests.api.conftest import Service
from tests.documents import ROOT, blocks
from tests.factories import make_zip, noise_images
from tests.http_server import serve

EXAMPLES = list(blocks((ROOT / "docs" / "how-to" / "use-the-api.md").read_text()))
LISTING, PROGRAMS = EXAMPLES[0].body, {block.language: block.body for block in EXAMPLES}
needs_tools = pytest.mark.skipif(
    not all(map(shutil.which, ("curl", "jq", "sha256sum"))), reason="needs curl, jq and sha256sum"
)


def run(service: Service, folder: Path, *command: str) -> str:
    """Run a program next to a zip and return its output. It gets the address, Ada's token and GitHub's names."""
    (folder / "submission.zip").write_bytes(make_zip(noise_images(10)))
    variables = {"KENNEL_TOKEN": service.tokens["ada"], "GITHUB_REPOSITORY": "ada/dogs", "GITHUB_REF_NAME": "entry-7"}
    with serve(service.app) as url, working_worker(service):
        environment = {**os.environ, **variables, "KENNEL_URL": url}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def notes(service: Service) -> list[tuple[str, str]]:
    """Return the note and status of each of Ada's entries."""
    listed = service.call("ada", "GET", "/competitions/dogs/submissions").json()["submissions"]
    return [(entry["note"], entry["status"]) for entry in listed]


@needs_tools
def test_the_curl_example_reads_a_list(service: Service, tmp_path: Path) -> None:
    slugs = [service.competition() for _ in range(3)]
    program = LISTING.replace("limit=100", "limit=2")
    assert run(service, tmp_path, "bash", "-euo", "pipefail", "-c", program).split() == slugs[::-1]


@needs_tools
def test_the_curl_example_submits(service: Service, tmp_path: Path) -> None:
    service.competition(slug="dogs")
    output = run(service, tmp_path, "bash", "-euo", "pipefail", "-c", PROGRAMS["sh"])
    assert notes(service) == [("by curl", "scored")]
    assert '"over":true' in output
    assert "rank,team" in output


def test_the_python_example_submits(service: Service, tmp_path: Path) -> None:
    service.competition(slug="dogs")
    output = run(service, tmp_path, sys.executable, "-c", PROGRAMS["python"])
    assert output.startswith("scored None [")
    assert notes(service) == [("by Python", "scored")]


@needs_tools
def test_the_workflow_example_submits(service: Service, tmp_path: Path) -> None:
    """The named steps submit and wait. GitHub runs each step in bash with these options."""
    service.competition(slug="dogs")
    steps = yaml.safe_load(PROGRAMS["yaml"])["jobs"]["submit"]["steps"]
    commands = [step["run"] for step in steps if "name" in step]
    assert len(commands) == 2
    run(service, tmp_path, "bash", "-eo", "pipefail", "-c", "\n".join(commands))
    assert notes(service) == [("entry-7", "scored")]
