"""The process that judges many inputs: ``python -m tests.hostile.batch zip|onnx FIRST COUNT``, a line of JSON for each.

It is confined as the sandbox is, so that whatever an input makes it reach for beyond itself fails, and is told by an
audit hook, too: files, sockets, programs. Memory is limited as a whole; time and memory are measured for each input.
"""

import encodings.unicode_escape  # noqa: F401 - what says names of files imports it when it is first needed
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
"""Address space for all inputs of a process, beyond what the libraries take; each thread reserves some of it."""
FIRST_REHEARSED, REHEARSED = 10**9, 200
"""Inputs that are judged before the process is confined, so that libraries import what they will need."""
OUTSIDE = ("open", "socket.", "subprocess.", "os.", "shutil.", "ctypes.", "import")
"""Audit events of Python that reach beyond the process."""
THREADS = 8
"""That can be started beside the running one: zips are unpacked in threads."""


def judge_of(kind: str) -> Callable[[int], Verdict]:
    """The judge of inputs of this kind by their seeds, after whatever libraries it needs are imported."""
    if kind == "zip":
        return lambda seed: judge_zip(hostile_zip(seed))
    from tests.hostile.onnx_models import CHANGES, hostile_onnx  # noqa: PLC0415 - zips need neither onnx nor torch

    for name in CHANGES:
        judge_onnx(hostile_onnx(0, name))
    return lambda seed: judge_onnx(hostile_onnx(seed))


def main(kind: str, first: int, count: int) -> None:
    """Judge the inputs of these seeds."""
    warnings.simplefilter("ignore")
    judge = judge_of(kind)
    for seed in range(FIRST_REHEARSED, FIRST_REHEARSED + REHEARSED):
        judge(seed)
    while len(os.listdir("/proc/self/task")) > 1:  # noqa: PTH208 - a thread that has ended is listed for a moment
        time.sleep(0.01)
    reached: list[str] = []
    limit_memory(MEMORY_BYTES)
    missing = missing_measures(confine(open_files=16, threads=THREADS))
    before = _peak_bytes()
    _tell({"missing": missing})
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
        _tell(line)


def _tell(line: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    os._exit(0)  # what libraries do at the end needs files
