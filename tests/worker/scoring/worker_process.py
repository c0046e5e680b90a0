"""A worker in a separate process, for a test's service."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryFile

from scorer.confinement.import_path import IMPORT_PATH
from scorer.settings import Settings
from tests.conftest import addresses
from tests.documents import ROOT

PATIENCE = 120
"""Seconds that a test waits for a worker."""


@dataclass
class WorkerProcess:
    """A worker process and, after its end, its output."""

    process: subprocess.Popen[str]
    output: str = ""


def _stop(worker: subprocess.Popen[str]) -> None:
    """Stop a worker, by force if necessary. A leftover process would make other tests fail."""
    worker.terminate()
    try:
        worker.wait(PATIENCE)
    finally:
        worker.kill()
        worker.wait()


@contextmanager
def worker_process(program: str, settings: Settings, **variables: str) -> Iterator[WorkerProcess]:
    """Run the Python ``program`` as a worker during the block, with only the necessary variables and these.
    ``TimeoutExpired`` if it does not stop."""
    bare = {name: os.environ[name] for name in ("PATH", "HOME")}
    environment = {**bare, "PYTHONPATH": IMPORT_PATH, **addresses(settings), **variables}
    with TemporaryFile("w+") as log:
        worker = WorkerProcess(
            subprocess.Popen(
                [sys.executable, "-c", program],
                cwd=ROOT,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        try:
            yield worker
        finally:
            _stop(worker.process)
            log.seek(0)
            worker.output = log.read()
