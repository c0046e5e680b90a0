"""Runs a task in the confined process that opens an uploaded generator, and supervises it.

The process has an empty environment and a folder in which it may write its results. It has no other files, no network,
no other programs and no privileges, and its memory, processor time, threads and wall time are limited
(:mod:`~scorer.generators.sandbox.child`). It is killed together with everything it started.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from scorer.confinement.bubblewrap import wrapped
from scorer.confinement.import_path import IMPORT_PATH
from scorer.confinement.privileges import hide_memory
from scorer.errors import Invalid
from scorer.generators.limits import GeneratorLimits
from scorer.generators.sandbox.exchange import Arrays, Report, Request, Task, read_result, write_request
from scorer.progress import StageProgress

MAX_LINE_BYTES = 4096
_SILENT_SECONDS = 1.0


def run_in_sandbox(folder: Path, request: Request, progress: StageProgress | None) -> tuple[Report, Arrays]:
    """Do what is requested with the generator in ``folder``. Raises the errors of the task, and ``Invalid``:
    ``out-of-memory``, ``out-of-time``, ``generator-crashed``; ``Unavailable`` (``no-sandbox``)."""
    limits = GeneratorLimits(**request.limits)
    write_request(folder, request)
    status, error_output = _run(folder, limits, progress or (lambda _stage, _share: None))
    result = read_result(folder, limits)
    if status != 0 or result is None:
        raise _failure(status, error_output, task=request.task, limits=limits)
    return result


def _run(folder: Path, limits: GeneratorLimits, progress: StageProgress) -> tuple[int | None, str]:
    """The exit status (None: out of time) and the end of standard error."""
    with (folder / "complaints").open("w+b") as stderr_file:
        with _started(folder, stderr_file, limits) as process:
            deadline = time.monotonic() + limits.wall_seconds
            for line in _lines(process, deadline):
                _report_progress(line, progress)
            remaining = max(0.0, deadline - time.monotonic())
            try:
                status = _by_signal(process.wait(remaining))
            except subprocess.TimeoutExpired:
                status = None
        stderr_file.seek(max(0, stderr_file.seek(0, os.SEEK_END) - MAX_LINE_BYTES))
        return status, stderr_file.read(MAX_LINE_BYTES).decode("utf-8", "replace")


@contextmanager
def _started(folder: Path, stderr_file: Any, limits: GeneratorLimits) -> Iterator[subprocess.Popen[bytes]]:
    """The process, in its own process group, which is always killed at the end."""
    hide_memory()
    command = [sys.executable, "-P", "-s", "-m", "scorer.generators.sandbox.child", str(folder)]
    process = subprocess.Popen(  # noqa: S603 - our own module
        wrapped(command, folder),
        cwd=folder,
        env=_environment(folder, limits),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr_file,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _environment(folder: Path, limits: GeneratorLimits) -> dict[str, str]:
    """The whole environment of the process: the path to Kennel's code, and settings to save memory. No secrets."""
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": IMPORT_PATH,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "",  # the memory limit is on address space, and a GPU's driver takes all of it
        "OMP_NUM_THREADS": str(limits.threads),
        "OPENBLAS_NUM_THREADS": "1",  # it starts threads on import, and only one thread can be confined
        "OMP_WAIT_POLICY": "PASSIVE",  # spinning threads starve each other on busy cores
        "MALLOC_ARENA_MAX": "2",  # each arena reserves address space, which counts against the limit
    }


def _by_signal(status: int) -> int:
    """The exit status, negative if a signal ended the process. Bubblewrap reports a signal as a status above 128."""
    return 128 - status if status > 128 else status


def _lines(process: subprocess.Popen[bytes], deadline: float) -> Iterator[bytes]:
    """The lines that the process writes, until it closes standard output, writes an overlong line, or time is up."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(min(left, _SILENT_SECONDS)):
                continue
            read = os.read(process.stdout.fileno(), MAX_LINE_BYTES)
            if not read:
                return
            *lines, rest = (rest + read).split(b"\n")
            yield from lines
            if len(rest) > MAX_LINE_BYTES:
                return


def _report_progress(line: bytes, progress: StageProgress) -> None:
    """Report one line of progress; ignore any other line."""
    try:
        message = json.loads(line)
        stage = str(message["stage"])[:40]
        share = float(message["share"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return
    if 0.0 <= share <= 1.0:
        progress(stage, share)


def _failure(status: int | None, error_output: str, *, task: Task, limits: GeneratorLimits) -> Exception:
    """The error for a missing result: out of time, a crash caused by the file, or a fault of Kennel or the machine."""
    if status is None:
        return Invalid("out-of-time", f"The {task} took longer than the limit of {limits.wall_seconds:,} seconds.")
    if status == -signal.SIGXCPU:
        return Invalid("out-of-time", f"The {task} used more than {limits.cpu_seconds:,} seconds of processor time.")
    if status in {-signal.SIGKILL, -signal.SIGTERM}:
        return RuntimeError(f"the system ended the sandbox with signal {-status}, perhaps for lack of memory")
    if status < 0:
        return Invalid("generator-crashed", f"Signal {-status} ended the process that ran the generator.")
    return RuntimeError(f"the sandbox ended with {status} and no result: {error_output}")
