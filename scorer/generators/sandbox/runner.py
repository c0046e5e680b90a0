"""A stranger's generator is audited in a process of its own, which has nothing to lose and nothing to take.

The process has an empty environment and folder, no network, no other programs, limited memory, processor time, files
and wall time (:mod:`~scorer.generators.sandbox.confinement`), and is killed with everything that it started. This side
needs
neither torch nor ONNX, and never unpickles.

What it does not guarantee: where the system has no Landlock, a process that has been taken over could read its user's
files and tell of them in its report, which is all that it can write. The report's provenance says which walls held.
"""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.recovery.plan import Plan
from scorer.generators.recovery.report import Audit, audit_from
from scorer.generators.sandbox.exchange import AuditRequest, Pixels, read_result, write_inputs

StageProgress = Callable[[str, float], None]
"""Hears the stage and its finished share, both as the process tells them; may raise, which ends the process."""
DEFAULT_LIMITS = GeneratorLimits()
MAX_LINE_BYTES = 4096
_ROOT = Path(__file__).parents[3]
_SILENT_SECONDS = 1.0


def audit_in_sandbox(  # noqa: PLR0913 - whatever an audit is of
    content: bytes,
    latent: Latent,
    train: Pixels,
    held_out: Pixels,
    *,
    plan: Plan,
    encoder: bytes | None = None,
    values: str | None = None,
    limits: GeneratorLimits = DEFAULT_LIMITS,
    progress: StageProgress | None = None,
) -> Audit:
    """Audit the generator in an ONNX file against training and held-out images (n, s, s, 3) uint8.

    ``encoder``, an ONNX file of images to latents, takes the place of the search. ``values`` is ``tanh`` or
    ``sigmoid``; None leaves it to the images to show. Raises ``Invalid`` as
    :func:`~scorer.generators.onnx.generator.read_generator`, :func:`~scorer.generators.onnx.encoder.read_encoder` and
    :func:`~scorer.generators.recovery.audit.audit_generator` do, and ``out-of-memory``, ``out-of-time``,
    ``generator-crashed``;
    ``Unavailable`` (``no-sandbox``).
    """
    with TemporaryDirectory(prefix="kennel-generator-") as name:
        folder = Path(name)
        request = AuditRequest(asdict(latent), plan.as_json(), values, asdict(limits))
        write_inputs(folder, content, train, held_out, request, encoder)
        ended, said = _run(folder, limits, progress or _ignore_progress)
        found = read_result(folder, limits)
        if ended != 0 or found is None:
            raise _failure(ended, said, limits)
    return audit_from(*found)


def _run(folder: Path, limits: GeneratorLimits, progress: StageProgress) -> tuple[int | None, str]:
    """The exit status (None: it ran out of time), and what it complained of last."""
    with (folder / "complaints").open("w+b") as complaints:
        with _started(folder, complaints, limits) as process:
            deadline = time.monotonic() + limits.wall_seconds
            for line in _lines(process, deadline):
                _report_progress(line, progress)
            remaining = max(0.0, deadline - time.monotonic())
            try:
                ended = process.wait(remaining)
            except subprocess.TimeoutExpired:
                ended = None
        complaints.seek(max(0, complaints.tell() - MAX_LINE_BYTES))
        return ended, complaints.read().decode("utf-8", "replace")


@contextmanager
def _started(folder: Path, complaints: Any, limits: GeneratorLimits) -> Iterator[subprocess.Popen[bytes]]:
    """The process in a group of its own; whatever happens, nothing of it is left."""
    process = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-P", "-s", "-m", "scorer.generators.sandbox.child", str(folder)],
        cwd=folder,
        env=_environment(folder, limits),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=complaints,
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
    """All that the process is told: where our code is, and how to keep small. No secrets, no settings."""
    return {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": str(_ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LC_ALL": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "",  # memory is limited by addresses, of which a GPU's driver takes all
        "OMP_NUM_THREADS": str(limits.threads),
        "OPENBLAS_NUM_THREADS": str(limits.threads),
        "OMP_WAIT_POLICY": "PASSIVE",  # threads that wait by spinning starve each other where others work, too
        "MALLOC_ARENA_MAX": "2",  # each arena reserves addresses that would count against the limit
    }


def _lines(process: subprocess.Popen[bytes], deadline: float) -> Iterator[bytes]:
    """The lines that the process writes, until it closes or the time is over. A longer line than there is ends it."""
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    kept = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if not selector.select(min(left, _SILENT_SECONDS)):
                continue
            read = os.read(process.stdout.fileno(), MAX_LINE_BYTES)
            if not read:
                return
            *lines, kept = (kept + read).split(b"\n")
            yield from lines
            if len(kept) > MAX_LINE_BYTES:
                return


def _report_progress(line: bytes, progress: StageProgress) -> None:
    """One line of progress; whatever is not such a line is overheard."""
    try:
        told = json.loads(line)
        stage, share = str(told["stage"])[:40], float(told["share"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return
    if 0.0 <= share <= 1.0:
        progress(stage, share)


def _ignore_progress(_: str, __: float) -> None:
    """Hears nothing."""


def _failure(ended: int | None, said: str, limits: GeneratorLimits) -> Exception:
    """Why there is no result: out of time, a crash that the file caused, or a fault of our own."""
    if ended is None:
        return Invalid("out-of-time", f"The audit took longer than the {limits.wall_seconds:,} seconds it may take.")
    if ended == -signal.SIGXCPU:
        return Invalid("out-of-time", f"The audit took more than {limits.cpu_seconds:,} seconds of processor time.")
    if ended < 0:
        return Invalid("generator-crashed", f"The process that ran the generator was ended by signal {-ended}.")
    return RuntimeError(f"the sandbox ended with {ended} and no result: {said}")
