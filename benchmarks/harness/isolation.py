"""Ways to run benchmarks: in separate processes, in turn, and at the same moment.

A separate process protects a run from another run's allocator, threads and caches. Contenders run in turn, so a
disturbance of the machine affects all of them.
"""

import importlib
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import psutil

log = logging.getLogger(__name__)
THREADS = 2
"""Threads of OpenMP, the BLAS libraries and torch, equal for all contenders."""
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR")
ROOT = Path(__file__).parents[2]

FORK_SERVER = "scorer.confinement.fork_server"
"""Only its name, because an import would add to the measured memory."""

Run = dict[str, float]
"""Measurements of one run of one contender, by name: ``seconds``, ``fid``, ``peak_bytes``, ..."""


@dataclass(frozen=True)
class Task:
    """A function (``module:name``) that returns a :data:`Run`, and its keyword arguments as JSON values."""

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Runner = Callable[[Task], Run]


def run_here(task: Task) -> Run:
    module, _, name = task.function.partition(":")
    result: Run = getattr(importlib.import_module(module), name)(**task.arguments)
    return result


def run_apart(task: Task) -> Run:
    """Call the function in a new process with :data:`THREADS` threads, and add its ``peak_bytes``.

    The environment has the numbers of threads before numpy or torch is imported. If the process fails, the
    ``RuntimeError`` has its output.
    """
    threads = {f"{library}_NUM_THREADS": str(THREADS) for library in _LIBRARIES}
    with TemporaryDirectory() as folder:
        output = Path(folder) / "run.json"
        command = [sys.executable, "-m", "benchmarks.harness.isolation", json.dumps(asdict(task)), str(output)]
        process = subprocess.run(
            command, cwd=ROOT, env=os.environ | threads, capture_output=True, text=True, check=False
        )
        if process.returncode != 0:
            raise RuntimeError(f"{task.function} failed:\n{process.stdout}{process.stderr}")
        result: Run = json.loads(output.read_text())
        return result


def interleaved(
    contenders: Mapping[str, str],
    arguments: Mapping[str, Any],
    rounds: int,
    *,
    run: Runner,
    max_rounds: Mapping[str, int] | None = None,
) -> dict[str, list[Run]]:
    """Run every contender's function (``module:name``) once per round. Returns the runs by contender, in order.

    ``max_rounds`` names the contenders with fewer rounds.
    """
    runs: dict[str, list[Run]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name, function in contenders.items():
            if number < (max_rounds or {}).get(name, rounds):
                runs[name].append(run(Task(function, arguments)))
                log.info("round %d of %d, %s: %.3f s", number + 1, rounds, name, runs[name][-1]["seconds"])
    return runs


T = TypeVar("T")
_meetings: list[Barrier] = []
MEETING_SECONDS = 600.0


def run_together(function: Callable[..., T], arguments: Sequence[tuple[Any, ...]]) -> list[T]:
    """Call a function with each of these arguments in its own process. :func:`meet` waits for the other processes."""
    context = get_context("spawn")
    barrier = context.Barrier(len(arguments), timeout=MEETING_SECONDS)
    with ProcessPoolExecutor(len(arguments), context, _know, (barrier,)) as processes:
        return list(processes.map(function, *zip(*arguments, strict=True)))


def _know(barrier: Barrier) -> None:
    _meetings.append(barrier)


def meet() -> None:
    _meetings[-1].wait()


def peak_bytes(process: int | str = "self") -> int:
    """Peak resident memory in bytes, including mapped files, of this process or the one with that number.

    It is Linux' VmHWM, which starts at zero with each program. ``ru_maxrss`` does not: after ``fork`` it includes the
    parent's memory.
    """
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) * 1024


def timed(act: Callable[[], object]) -> Run:
    """Call a function. Returns ``seconds`` of the clock and ``cpu_seconds`` of processors."""
    cpu, start = _processor_seconds(), time.perf_counter()
    act()
    return {"seconds": time.perf_counter() - start, "cpu_seconds": _processor_seconds() - cpu}


def _processor_seconds() -> float:
    """Of this process, the children that it has waited for, and its limited processes."""
    spent = os.times()
    waited_for = spent.children_user + spent.children_system
    return spent.user + spent.system + waited_for + forked_seconds(psutil.Process())


def forked_seconds(owner: psutil.Process) -> float:
    """Processor seconds so far of a process's fork server and of the ended processes of that server."""
    seconds = 0.0
    for child in owner.children():
        try:
            if FORK_SERVER in child.cmdline():
                seconds += sum(child.cpu_times()[:4])
        except psutil.Error:
            continue
    return seconds


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(run_here(Task(**json.loads(sys.argv[1]))) | {"peak_bytes": peak_bytes()}))
