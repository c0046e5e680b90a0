"""One benchmark run in a separate process, so that no run is affected by another's allocator, threads or caches."""

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

THREADS = 2
"""The same for all contenders: threads of OpenMP, of the BLAS libraries and of torch."""
_LIBRARIES = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR")
ROOT = Path(__file__).parents[2]

Run = dict[str, float]
"""What one run of one contender measured, by name: ``seconds``, ``fid``, ``peak_bytes``, ..."""


@dataclass(frozen=True)
class Task:
    """A function (``module:name``) and its keyword arguments, which JSON can hold; it returns a :data:`Run`."""

    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


Runner = Callable[[Task], Run]


def run_here(task: Task) -> Run:
    """Call the function in this process."""
    module, _, name = task.function.partition(":")
    result: Run = getattr(importlib.import_module(module), name)(**task.arguments)
    return result


def run_apart(task: Task) -> Run:
    """Call the function in a fresh process with :data:`THREADS` threads, and add its ``peak_bytes``.

    The numbers of threads are in the environment before numpy or torch is imported. The process's output is shown
    only if it fails, in the ``RuntimeError``.
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


def peak_bytes(process: int | None = None) -> int:
    """Peak resident memory in bytes, mapped files included, of this process or of the one with that number.

    On Linux it is VmHWM, which starts at zero with each program. ``ru_maxrss`` does not: right after ``fork`` a child
    has its parent's memory, and that stays in its maximum.
    """
    try:
        lines = Path(f"/proc/{process or 'self'}/status").read_text().splitlines()
    except OSError:
        if process is not None:
            raise
        maximum = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return maximum if sys.platform == "darwin" else maximum * 1024
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) * 1024


def main() -> None:
    """Run the task given on the command line and write its result, with ``peak_bytes``, to the file given."""
    parser = argparse.ArgumentParser()
    parser.add_argument("task")
    parser.add_argument("answer", type=Path)
    options = parser.parse_args()
    result = run_here(Task(**json.loads(options.task)))
    options.answer.write_text(json.dumps(result | {"peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
