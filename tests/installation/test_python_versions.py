"""Every pinned package has a wheel for each Python version and system. On each Python version found on this machine,
the API's tests pass and the client works alone. Pages name these versions."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, requires
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import compatible_tags, cpython_tags, mac_platforms
from packaging.utils import canonicalize_name

from tests.documents import ROOT
from tests.factories import make_zip, noise_images
from tests.pure.client.signed_receipts import KEY, RECEIPT, signed, to_jwk

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
MANYLINUX = (*(f"manylinux_2_{minor}" for minor in range(36, 4, -1)), "manylinux2014", "manylinux2010", "manylinux1")
"""Debian 12 has glibc 2.36."""
SYSTEMS = {
    "Linux x86_64": ("linux", "Linux", "x86_64", [f"{tag}_x86_64" for tag in MANYLINUX]),
    "Linux aarch64": ("linux", "Linux", "aarch64", [f"{tag}_aarch64" for tag in MANYLINUX]),
    "macOS arm64": ("darwin", "Darwin", "arm64", list(mac_platforms((14, 0), "arm64"))),
}
"""By name: ``sys.platform``, ``platform_system``, ``platform_machine``, and the platforms of wheels that run there."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CLIENT = tomllib.loads((ROOT / "client" / "pyproject.toml").read_text())["project"]
OWN = {"kennel-server", "kennel-client"}
NEED_TORCH = {"torchmetrics"}
"""Packages for tests that would install torch, which an installation without the worker does not have."""
READ_BY_TESTS = {"onnx", "pyarrow"}
"""Packages of the worker that tests of the API use to make generators and read data releases."""
CLIENT_ALONE = [f"tests/pure/client/test_{name}.py" for name in ("data_files", "retries", "waiting")]
"""The client's tests that do not need the server."""
OPTIONS = ("--quiet", "--numprocesses=2", "--dist=loadfile", "-p", "no:cacheprovider", "-m", "not slow")
TOLERANT = ("-W", "default::DeprecationWarning", "-W", "default::PendingDeprecationWarning")
"""An old package may use features that a newer dependency has deprecated, such as typer 0.20 with click 8.5."""


@pytest.fixture(scope="module")
def wheels() -> dict[str, set[str]]:
    """The tags of the wheels of each package's pinned version, by package."""
    found: dict[str, list[str]] = json.loads(_run(sys.executable, "-m", "tests.installation.wheel_tags"))
    return {name: set(tags) for name, tags in found.items()}


def test_the_project_allows_these_pythons() -> None:
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert tuple(f"3.{minor}" for minor in range(30) if f"3.{minor}" in allowed) == PYTHONS
    assert [
        python for python in PYTHONS if f"Programming Language :: Python :: {python}" not in PROJECT["classifiers"]
    ] == []


@pytest.mark.parametrize("name", ["README.md", "docs/start/demo.md", "docs/start/organizer.md", "Makefile"])
def test_pages_name_the_range_of_pythons(name: str) -> None:
    versions = re.search(r"needs? Python ([\d.]+\d) to ([\d.]+\d)", (ROOT / name).read_text())
    assert versions is not None
    assert versions.groups() == (PYTHONS[0], PYTHONS[-1])


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_every_pin_has_a_wheel(python: str, system: str, wheels: dict[str, set[str]]) -> None:
    """This covers the packages of all extras."""
    version = tuple(map(int, python.split(".")))
    platforms = SYSTEMS[system][3]
    interpreter = f"cp{python.replace('.', '')}"
    tags = chain(cpython_tags(version, platforms=platforms), compatible_tags(version, interpreter, platforms))
    fitting = {str(tag) for tag in tags}
    needed = _needed(python, system)
    assert sorted(needed - wheels.keys()) == [], "no pin"
    assert [name for name in sorted(needed) if not wheels[name] & fitting] == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("python", "dependencies"),
    [
        ("3.11", "oldest"),
        ("3.12", "oldest"),
        ("3.12", "newest"),
        ("3.13", "oldest"),
        ("3.13", "newest"),
        ("3.14", "newest"),
    ],
)
def test_the_api_runs_without_the_worker(python: str, dependencies: str, tmp_path: Path) -> None:
    """The environment has the oldest or newest packages that the project allows. Packages that only some tests read
    files with are installed after the service has started without them. Tests that need torch are marked and
    skipped."""
    found = _environment(python, tmp_path)
    limits = tmp_path / "limits.txt"
    limits.write_text("\n".join(_oldest()) if dependencies == "oldest" else "")
    tools = [line for line in PROJECT["optional-dependencies"]["test"] if Requirement(line).name not in NEED_TORCH]
    _run(found, "-m", "pip", "install", "--quiet", "-c", limits, "./client", ".[api,standalone,traces]", *tools)
    assert PROJECT["version"] in _run(found.with_name("kennel"), "--version")
    _run(found, "-c", "import api.main, importlib.util as u; assert u.find_spec('torch') is None", cwd=tmp_path)
    assert set(json.loads(_run(found, ROOT / "tests" / "installation" / "start_web.py", cwd=tmp_path)).values()) == {
        "ok"
    }
    readers = [line for line in PROJECT["optional-dependencies"]["worker"] if Requirement(line).name in READ_BY_TESTS]
    _run(found, "-m", "pip", "install", "--quiet", "-c", limits, *readers)
    _run(found, "-m", "pytest", *OPTIONS, *(TOLERANT if dependencies == "oldest" else ()), "tests/api")


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("python", PYTHONS)
def test_the_client_works_alone_with_its_oldest_packages(python: str, tmp_path: Path) -> None:
    """The server needs later packages, so a common environment never tests the client with its oldest ones."""
    found = _environment(python, tmp_path)
    limits = tmp_path / "limits.txt"
    limits.write_text("\n".join(_lowest([*CLIENT["dependencies"], *CLIENT["optional-dependencies"]["verify"]])))
    _run(found, "-m", "pip", "install", "--quiet", "-c", limits, "./client[verify]", "pytest")
    kennel, entry = found.with_name("kennel"), tmp_path / "entry.zip"
    receipt, keys = tmp_path / "receipt.json", tmp_path / "keys.json"
    entry.write_bytes(make_zip(noise_images(1)))
    receipt.write_text(json.dumps(signed(RECEIPT)))
    keys.write_text(json.dumps({"keys": [to_jwk(KEY)]}))
    assert CLIENT["version"] in _run(kennel, "--version")
    assert "are valid" in _run(kennel, "check", entry, "--count", "8", "--size", "16")
    assert json.loads(_run(kennel, "verify", receipt, "--keys", keys, "--json"))["issuer"] == RECEIPT["issuer"]
    alone = ("--noconftest", "-c", os.devnull, "--rootdir", ROOT, "-p", "no:cacheprovider")
    _run(found, "-m", "pytest", "--quiet", *alone, *CLIENT_ALONE)


@cache
def _needed(python: str, system: str) -> set[str]:
    """The names of all packages that the project and its extras need on this Python version and system."""
    platform, name, machine, _ = SYSTEMS[system]
    facts = {
        "python_version": python,
        "python_full_version": f"{python}.9",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
        "sys_platform": platform,
        "platform_system": name,
        "platform_machine": machine,
    }
    lines = [*PROJECT["dependencies"], *chain.from_iterable(PROJECT["optional-dependencies"].values())]
    waiting = [Requirement(line) for line in lines]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        if requirement.name in OWN:
            continue
        for extra in ("", *requirement.extras):
            key = canonicalize_name(requirement.name), extra
            if key in seen:
                continue
            seen.add(key)
            waiting += [
                dependency
                for dependency in map(Requirement, _requires(key[0]))
                if dependency.marker is None or dependency.marker.evaluate(facts | {"extra": extra})
            ]
    return {name for name, _ in seen}


def _requires(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:  # not needed on this machine
        return []


def _oldest() -> Iterator[str]:
    """The lowest version of each requirement of the API's installation."""
    extras = PROJECT["optional-dependencies"]
    return _lowest([*PROJECT["dependencies"], *extras["api"], *extras["traces"]])


def _lowest(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in map(Requirement, requirements):
        for specifier in requirement.specifier:
            if specifier.operator == ">=":
                yield f"{requirement.name}=={specifier.version}"


def _environment(python: str, folder: Path) -> Path:
    """The interpreter of a new environment of this version. Skips the test if this machine does not have the
    version."""
    interpreter = _interpreter(python)
    if interpreter is None:
        pytest.skip(f"needs Python {python}")
    _run(interpreter, "-m", "venv", folder / "environment")
    return folder / "environment" / "bin" / "python"


def _interpreter(python: str) -> Path | None:
    """An interpreter of this version: the running one, one on the path, or one of pyenv."""
    if sys.version_info[:2] == tuple(map(int, python.split("."))):
        return Path(sys.executable)
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    named = shutil.which(f"python{python}")
    candidates = [*sorted(root.glob(f"versions/{python}.*/bin/python")), *([Path(named)] if named else [])]
    return next(
        (found for found in candidates if not subprocess.run([found, "-c", ""], check=False).returncode),
        None,
    )


def _run(*command: str | Path, cwd: Path = ROOT) -> str:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    done = subprocess.run([*map(str, command)], cwd=cwd, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-8000:]
    return done.stdout
