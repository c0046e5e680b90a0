"""The version before the newest migration, taken from the repository's history, and processes of it beside ours."""

import io
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import migrations
from tests.compose.compose_file import ROOT
from tests.migrations.test_every_migration import revisions

PATIENCE = 240
QUEUES = "check,sweep,score,prepare"


def extract(folder: Path) -> bool:
    """Write the former version's files into ``folder``; False where the history is not there."""
    (newest,) = (Path(migrations.__file__).parent / "versions").glob(f"{revisions()[-1]}_*.py")
    added = _git("log", "--diff-filter=A", "--format=%H", "-1", "--", str(newest)).decode().strip()
    archive = _git("archive", f"{added}^") if added else b""
    if not archive:
        return False
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    assert not (folder / newest.relative_to(ROOT)).exists()
    return True


def _git(*words: str) -> bytes:
    """What git prints; nothing where it fails."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False).stdout


@contextmanager
def running(version: Path, environment: Mapping[str, str], *module: str) -> Iterator[Callable[[], str]]:
    """``python -m MODULE`` of a version for the length of the block; the value returns its output so far."""
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=version,
            env=environment_of(version, environment),
            stdout=log,
            stderr=subprocess.STDOUT,
        )

        def output() -> str:
            log.seek(0)
            return log.read()

        try:
            yield output
        finally:
            process.terminate()
            process.wait(PATIENCE)


def environment_of(version: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of a version's processes, which import its code before what is installed."""
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME")},
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONPATH": os.pathsep.join([str(version), str(version / "client")]),
        **variables,
    }


def run(version: Path, environment: Mapping[str, str], code: str, *arguments: str) -> str:
    """What a Python of a version prints for some code."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=version,
        env=environment_of(version, environment),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def wait_for(condition: Callable[[], Any], what: str, *outputs: Callable[[], str]) -> Any:
    """Poll until a condition holds; what processes have said explains a failure."""
    end = time.monotonic() + PATIENCE
    while not (answer := condition()):
        assert time.monotonic() < end, "\n".join(
            [f"waited {PATIENCE} s for {what}", *(each()[-4000:] for each in outputs)]
        )
        time.sleep(0.1)
    return answer
