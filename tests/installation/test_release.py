"""``make release``: what it makes holds what is needed, and works in an environment that has nothing else."""

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.test_locked_packages import LOCKED, ROOT, versions_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
SERVERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["standalone"]
"""The wheels of PostgreSQL and Valkey, pinned."""
PACKAGES = ("api", "deploy", "migrations", "scorer", "worker")


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """What a command prints."""
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``make release`` makes."""
    folder = tmp_path_factory.mktemp("release")
    made = folder / "dist"
    python = f"PYTHON={sys.executable}"
    run("make", "release", "--assume-old=.venv/installed", f"TOOLS={folder / 'tools'}", f"DIST={made}", python)
    return made


def sources() -> set[str]:
    """The files of the packages, as the repository has them."""
    return set(run("git", "ls-files", "--", *PACKAGES).split())


def test_wheel_and_sdist_hold_every_file_of_the_packages(dist: Path) -> None:
    (wheel,) = dist.glob("kennel_server-*.whl")
    assert sources() <= set(zipfile.ZipFile(wheel).namelist())
    (sdist,) = dist.glob("kennel_server-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sources() | {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile"} <= names


@pytest.mark.parametrize("image", ["api", "worker"])
def test_the_bill_of_materials_names_every_package_with_its_hashes(dist: Path, image: str) -> None:
    bill = json.loads((dist / f"kennel-{image}.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "kennel-server"
    named: dict[str, set[str]] = {}
    for each in bill["components"]:
        named.setdefault(each["name"], set()).add(each["version"])
        assert each["purl"].startswith("pkg:pypi/")
        assert any(reference.get("hashes") for reference in each["externalReferences"]), each["name"]
    assert named == versions_in(LOCKED / f"{image}.txt")


def test_the_wheel_works_in_an_environment_of_its_own(dist: Path, tmp_path: Path) -> None:
    """It shows a page, and its web server starts and is ready with a database and a queue."""
    wheels = sorted(dist.glob("*.whl"))
    assert len(wheels) == 2
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "--require-hashes", "-r", LOCKED / "api.txt")
    run(*pip, "--no-deps", *wheels)
    assert run(python.with_name("kennel"), "--version", cwd=tmp_path, PYTHONPATH="").startswith("kennel-server ")
    program = (
        "from fastapi.testclient import TestClient\n"
        "import api; from api.main import create_app; from scorer.settings import Settings\n"
        "settings = Settings(database_url='postgresql://x@127.0.0.1:1/x', redis_url='redis://127.0.0.1:1',"
        " blob_url='file:///tmp')\n"
        "print(api.__file__); print('Sign in' in TestClient(create_app(settings)).get('/reset').text)"
    )
    file, page = run(python, "-c", program, cwd=tmp_path, PYTHONPATH="").split()
    assert Path(file).is_relative_to(tmp_path)
    assert page == "True"
    run(*pip, *SERVERS)
    told = run(python, ROOT / "tests" / "installation" / "start_web.py", cwd=tmp_path, PYTHONPATH="")
    assert set(json.loads(told).values()) == {"ok"}
