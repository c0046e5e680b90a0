"""deploy/requirements/: what the images install, of the tested versions, each with its hashes."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKED = ROOT / "deploy" / "requirements"
OURS = {"kennel-client"}
"""What is installed from its folder."""
EXTRAS = {"api": ["api", "traces"], "worker": ["worker", "traces"]}
ENTRY = re.compile(
    r"^(?P<name>[\w.\-\[\],]+)==(?P<version>\S+)(?: ; (?P<marker>[^\\\n]+?))?(?P<rest>(?: \\\n    --hash=\S+)+)?$", re.M
)
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}(?!\S)")


def versions_in(path: Path) -> Mapping[str, set[str]]:
    """The versions that a file names, by package: several, where a marker says which."""
    versions: dict[str, set[str]] = {}
    for entry in ENTRY.finditer(path.read_text()):
        versions.setdefault(canonicalize_name(entry["name"]), set()).add(entry["version"])
    return versions


@pytest.mark.parametrize("file", sorted(LOCKED.glob("*.txt")), ids=lambda file: file.stem)
def test_every_package_has_a_version_and_its_hashes(file: Path) -> None:
    text = file.read_text()
    entries = list(ENTRY.finditer(text))
    assert len(entries) == len(re.findall(r"^[^\s#]", text, re.M)), "no line says anything else"
    for entry in entries:
        hashes = (entry["rest"] or "").split("--hash=")[1:]
        assert hashes, entry["name"]
        assert len(hashes) == len(HASH.findall(entry["rest"])), entry["name"]


@pytest.mark.parametrize("image", EXTRAS)
def test_an_image_has_all_that_it_needs_in_the_versions_that_were_tested(image: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(each for extra in EXTRAS[image] for each in project["optional-dependencies"][extra]),
    ]
    wanted = [each for each in wanted if Requirement(each).name not in OURS]
    locked = versions_in(LOCKED / f"{image}.txt")
    assert {canonicalize_name(Requirement(each).name) for each in wanted} <= set(locked)
    for each in map(Requirement, wanted):
        assert all(version in each.specifier for version in locked[canonicalize_name(each.name)]), each
    tested = versions_in(ROOT / "deploy" / "constraints.txt")
    assert {name: versions for name, versions in locked.items() if name in tested and not versions & tested[name]} == {}


def test_what_is_installed_from_an_index_is_checked() -> None:
    installs = re.findall(r"pip install (.*)", (ROOT / "deploy" / "Dockerfile").read_text())
    assert len(installs) == 5
    assert {line.split()[0] for line in installs} == {"--require-hashes", "--no-deps"}
    assert all("/wheels/" in line for line in installs if "--no-deps" in line)
    assert {line.rpartition("/")[2] for line in installs if "--require-hashes" in line} == {
        "api.txt", "worker.txt", "build.txt",
    }  # fmt: skip
