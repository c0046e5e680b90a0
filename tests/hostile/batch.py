"""Judges many inputs: ``python -m tests.hostile.batch zip|onnx FIRST COUNT`` prints a line of JSON for each.

The process is confined like the sandbox. If an input makes it access files, sockets or programs, the access fails and
an audit hook reports it. The process has a memory limit. It measures time and memory for each input.
"""

import encodings.unicode_escape  # noqa: F401 - loaded now, because Python imports it lazily for file names
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from scorer.confinement.process import confine, limit_memory, missing_measures
from tests.hostile.judge import Verdict, judge_onnx, judge_zip
from tests.hostile.zips import hostile_zip

MEMORY_BYTES = 2 << 30
"""Address space for all inputs of a process, in addition to that of the libraries. Threads reserve a part of it."""
FIRST_REHEARSED, REHEARSED = 10**9, 200
"""Inputs to judge before the process is confined, because libraries import modules lazily."""
OUTSIDE = ("open", "socket.", "subprocess.", "os.", "shutil.", "ctypes.", "import")
"""Python's audit events for access outside the process."""
THREADS = 8
"""Threads that the process may start. Zips are unpacked in threads."""


def load_judge(kind: str) -> Callable[[int], Verdict]:
    """The function that judges inputs of this kind by seed. Imports its libraries."""
    if kind == "zip":
        return lambda seed: judge_zip(hostile_zip(seed))
    from tests.hostile.onnx_models import CHANGES, hostile_onnx  # noqa: PLC0415 - zips need neither onnx nor torch

    for name in CHANGES:
        judge_onnx(hostile_onnx(0, name))
    return lambda seed: judge_onnx(hostile_onnx(seed))


def main(kind: str, first: int, count: int) -> None:
    """Judge the inputs of these seeds."""
    warnings.simplefilter("ignore")
    judge = load_judge(kind)
    for seed in range(FIRST_REHEARSED, FIRST_REHEARSED + REHEARSED):
        judge(seed)
    while len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - an ended thread stays listed for a moment
        time.sleep(0.01)
    reached: list[str] = []
    limit_memory(MEMORY_BYTES)
    missing = missing_measures(confine(open_files=16, threads=THREADS))
    before = _peak_bytes()
    _print({"missing": missing})
    sys.addaudithook(
        lambda event, arguments: reached.append(f"{event} {arguments}"[:200]) if event.startswith(OUTSIDE) else None
    )
    for seed in range(first, first + count):
        reached.clear()
        begun = time.process_time()
        verdict = judge(seed)
        line = {
            "seed": seed,
            "kind": verdict.kind,
            "outcome": verdict.outcome,
            "wrong": verdict.wrong[:500],
            "seconds": round(time.process_time() - begun, 4),
            "reached": reached[:3],
            "grown": _peak_bytes() - before,
        }
        _print(line)


def _print(line: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    os._exit(0)  # the exit handlers of libraries need files
