"""Runs a promise's test without its guard, in a copy of the sources."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.promises.promises import Promise

REPOSITORY = Path(__file__).parents[2]
RESULTS = REPOSITORY / "benchmarks" / "results" / "promises.json"
COPIED = (
    "api",
    "benchmarks",
    "client",
    "deploy",
    "migrations",
    "scorer",
    "tests",
    "worker",
    "pyproject.toml",
    "docs",
    "mkdocs.yml",
)
ALL_MARKS = ("-m", "slow or not slow")
TEST_FAILED = 1
"""pytest's exit status if tests ran and failed. Other statuses mean that they did not run."""


@contextmanager
def copied_sources() -> Iterator[Path]:
    """A copy of the sources that the tests need."""
    with tempfile.TemporaryDirectory(prefix="kennel-promises-") as folder:
        for name in COPIED:
            source, target = REPOSITORY / name, Path(folder) / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        yield Path(folder)


def run_test(folder: Path, test: str) -> int:
    """pytest's exit status for one test in a copy of the sources."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *ALL_MARKS, test]
    environment = {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode


def is_red_without_guard(folder: Path, promise: Promise) -> bool | None:
    """Whether the promise's test fails without its guard. None if it fails with its guard, or did not run."""
    if run_test(folder, promise.test) != 0:
        return None
    for file, guard, without in promise.guards:
        _replace(folder / file, guard, without)
    try:
        status = run_test(folder, promise.test)
    finally:
        for file, _, _ in promise.guards:
            shutil.copy(REPOSITORY / file, folder / file)
    return {0: False, TEST_FAILED: True}.get(status)


def _replace(path: Path, guard: str, without: str) -> None:
    text = path.read_text()
    if text.count(guard) != 1:
        raise ValueError(f"{path} does not have the guard once: {guard!r}")
    path.write_text(text.replace(guard, without))


def read_results() -> dict[str, bool]:
    """Whether each test failed without its guard, by the promise's fingerprint."""
    results: dict[str, bool] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return results


def write_results(results: Mapping[str, bool]) -> None:
    RESULTS.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")
