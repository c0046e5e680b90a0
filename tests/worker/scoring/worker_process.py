"""A worker in a process of its own, for a test's service."""

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
"""Seconds that a test waits for what a worker does."""


@dataclass
class WorkerProcess:
    """The process, and what it has printed: known once it has ended."""

    process: subprocess.Popen[str]
    output: str = ""


def _stop(worker: subprocess.Popen[str]) -> None:
    """End a worker, by force if it does not end when asked: a process that is left fails another test, too."""
    worker.terminate()
    try:
        worker.wait(PATIENCE)
    finally:
        worker.kill()
        worker.wait()


@contextmanager
def worker_process(program: str, settings: Settings, **variables: str) -> Iterator[WorkerProcess]:
    """A worker that the Python ``program`` starts, with no variables but what it needs and these; told to end in the
    end; ``TimeoutExpired`` if it does not."""
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
