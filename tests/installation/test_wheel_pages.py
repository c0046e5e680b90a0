"""Every page of the installed wheel renders: its templates and static files are in the wheel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tool_environments import make_cached, new_environment

ROOT = Path(__file__).parents[2]
BUILDER = "hatchling>=1.27"
"""The requirement in ``[build-system]`` of both projects."""


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """The standard output of a command, which must succeed."""
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder into which both wheels are installed."""
    builder = make_cached(BUILDER, lambda folder: new_environment(folder, BUILDER)) / "bin" / "python"
    for project in (ROOT, ROOT / "client"):
        run(builder, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "dist", cwd=project)
    wheels = (tmp_path / "dist").glob("*.whl")
    folder = tmp_path / "site"
    run(builder, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder, *wheels)
    return folder


@pytest.mark.heavy
def test_every_page_is_shown_by_the_installed_wheel(site: Path, tmp_path: Path) -> None:
    path = os.pathsep.join(map(str, (site, ROOT)))
    script = ROOT / "tests" / "installation" / "pages_of_wheel.py"
    report = json.loads(run(sys.executable, script, cwd=tmp_path, PYTHONPATH=path))
    assert all(Path(place).is_relative_to(site) for place in report["places"])
    assert report["pages"] > 50
    assert (report["faults"], report["missing"]) == ([], [])
