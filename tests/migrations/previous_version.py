"""The previous version from the repository's history, and its processes next to those of this version."""

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

from tests.compose.compose_file import ROOT

COMMIT = "81cc90daf5447e14f6b3d133e45dfa93698e7d9c"
"""The commit of 0.2.0. After you release a version, set this to its commit."""
PATIENCE = 240
QUEUES = "check,sweep,score,prepare"


def extract(folder: Path) -> bool:
    """Write the previous version's files to ``folder``. False if the repository has no history."""
    archive = subprocess.run(["git", "archive", COMMIT], cwd=ROOT, capture_output=True, check=False).stdout
    if not archive:
        return False
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    return True


@contextmanager
def running(version: Path, environment: Mapping[str, str], *module: str) -> Iterator[Callable[[], str]]:
    """Run ``python -m MODULE`` of a version during the block. The value returns its output so far."""
    with TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=version,
            env=build_environment(version, environment),
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


def build_environment(version: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of a version's processes, which import its code rather than the installed package."""
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME")},
        "OMP_WAIT_POLICY": "PASSIVE",
        "PYTHONPATH": os.pathsep.join([str(version), str(version / "client")]),
        **variables,
    }


def run(version: Path, environment: Mapping[str, str], code: str, *arguments: str) -> str:
    """Run code with a version's modules and return its output."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=version,
        env=build_environment(version, environment),
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def wait_for(condition: Callable[[], Any], what: str, *outputs: Callable[[], str]) -> Any:
    """Poll until a condition holds. A failure shows the output of the processes."""
    end = time.monotonic() + PATIENCE
    while not (answer := condition()):
        assert time.monotonic() < end, "\n".join(
            [f"waited {PATIENCE} s for {what}", *(output()[-4000:] for output in outputs)]
        )
        time.sleep(0.1)
    return answer
