"""Benchmark of a score next to another program that keeps a core busy: the share of its pace that remains."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.isolation import Run, Runner, Task, interleaved
from benchmarks.harness.report import Findings, MarkdownTable, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median

ALONE, BESIDE, ACTIVE = "alone", "next to a busy process", "next to a busy process, threads wait actively"
CONTENDERS = {
    ALONE: "benchmarks.speed.busy_core:score_alone",
    BESIDE: "benchmarks.speed.busy_core:score_beside",
    ACTIVE: "benchmarks.speed.busy_core:score_beside_actively",
}
WAIT_POLICY = "OMP_WAIT_POLICY"
MIN_PACE, MIN_GAIN = 0.5, 1.2


class Size(NamedTuple):
    rounds: int = 3
    images: int = 1000
    extractor: str = "efficientnet_lite0"


FULL, QUICK = Size(), Size(1, 40, "tiny")


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    run(Task("benchmarks.speed.tracks:prepare_submission", {"folder": str(folder), "count": size.images}))
    arguments = {"zip_file": str(folder / "blobs" / f"{size.images}.zip"), "extractor": size.extractor}
    settings = {"images": size.images, "extractor": size.extractor}
    return [BenchmarkCase("score", settings, interleaved(CONTENDERS, arguments, size.rounds, run=run))]


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    alone = compute_median(case.runs[ALONE])
    paces = {name: alone / compute_median(runs) for name, runs in case.runs.items()}
    rows = [(name, seconds(runs), f"{paces[name]:.2f}") for name, runs in case.runs.items()]
    title = f"{case.settings['images']:,} images, {case.settings['extractor']}"
    targets = [
        Target("pace of a score next to a busy process", paces[BESIDE], MIN_PACE, True),
        Target("faster than with actively waiting threads", paces[BESIDE] / paces[ACTIVE], MIN_GAIN, True, " x"),
    ]
    return Findings([MarkdownTable(title, ("", "s", "pace"), rows)], targets)


def _score(zip_file: str, extractor: str, *, busy: bool, policy: str | None = None) -> Run:
    """Time the command (``seconds``), alone or next to a process that always computes."""
    environment = {name: value for name, value in os.environ.items() if name != WAIT_POLICY}
    environment |= {WAIT_POLICY: policy} if policy else {}
    kennel = str(Path(sys.executable).with_name("kennel"))
    command = [kennel, "score", zip_file, "--reference", zip_file, "--extractor", extractor]
    with _busy_process() if busy else nullcontext():
        begun = time.perf_counter()
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
        return {"seconds": time.perf_counter() - begun}


score_alone, score_beside = (partial(_score, busy=busy) for busy in (False, True))
score_beside_actively = partial(_score, busy=True, policy="ACTIVE")


@contextmanager
def _busy_process() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()
