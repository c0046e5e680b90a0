"""Benchmark of a score beside another program that keeps a core busy: how much of its pace is left."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness.isolation import Run, Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of

NAME = "busy_core"
ALONE = "alone"
BESIDE = "beside a busy process"
ACTIVE = "beside it, threads that wait actively"
CONTENDERS = tuple(
    Contender(name, f"benchmarks.speed.busy_core:{function}")
    for name, function in ((ALONE, "score_alone"), (BESIDE, "score_beside"), (ACTIVE, "score_beside_actively"))
)
WAIT_POLICY = "OMP_WAIT_POLICY"
TIMED = {
    "": (
        *("client/kennel_client/archive", "scorer/archive", "scorer/extractors"),
        *("scorer/metrics/cosine.py", "scorer/metrics/features.py", "scorer/metrics/memorization.py"),
        *("scorer/metrics/mifid.py", "scorer/metrics/sample_quality/frechet.py"),
        *("deploy/cli/image_files.py", "deploy/cli/main.py", "deploy/cli/score.py"),
        *("worker/runtime/decoded_images.py", "worker/scoring/feature_cache.py", "worker/scoring/measure.py"),
        *("worker/scoring/provenance.py", "worker/scoring/published_features.py"),
    )
}
LEAST_PACE, LEAST_GAIN = 0.5, 1.2


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case: photographs, each with noise of its own, against themselves."""
    run(Task("benchmarks.speed.tracks_contenders:prepare_submission", {"folder": str(folder), "count": plan.scored}))
    arguments = {"zip_file": str(folder / "blobs" / f"{plan.scored}.zip"), "extractor": plan.tracks[0]}
    settings = {"images": plan.scored, "extractor": plan.tracks[0]}
    return [BenchmarkCase("score", settings, interleaved(CONTENDERS, arguments, plan.rounds, run))]


METHOD = """\
The command `kennel score`, from its start to its end, on two threads: alone, and beside another process that keeps one
core busy, as a database or a web process may. Threads of OpenMP that have ended their part of a layer wait for the
others either actively, as is torch's default, on a core that others need; or passively, as Kennel has it before torch
is loaded (`scorer/extractors/openmp.py`). *Pace* is the time alone over the time beside."""


def section(result: BenchmarkResult) -> Section:
    """The table, and a target on the pace that is left."""
    (case,) = result.cases
    alone = median_of(case.runs[ALONE])
    paces = {name: alone / median_of(runs) for name, runs in case.runs.items()}
    rows = [(name, seconds(runs), f"{paces[name]:.2f}") for name, runs in case.runs.items()]
    title = f"{case.settings['images']:,} images, {case.settings['extractor']}"
    targets = [
        Target("pace of a score beside a busy process", paces[BESIDE], LEAST_PACE, True),
        Target(
            "faster there than with threads that wait actively", paces[BESIDE] / paces[ACTIVE], LEAST_GAIN, True, " x"
        ),
    ]
    return Section("A busy core", METHOD, [MarkdownTable(title, ("", "s", "pace"), rows)], targets, timed=TIMED)


def score_alone(zip_file: str, extractor: str) -> Run:
    """Time the command (``seconds``)."""
    return _score(zip_file, extractor, {name: value for name, value in os.environ.items() if name != WAIT_POLICY})


def score_beside(zip_file: str, extractor: str) -> Run:
    """The same beside a process that computes all the time."""
    with _busy_process():
        return score_alone(zip_file, extractor)


def score_beside_actively(zip_file: str, extractor: str) -> Run:
    """The same where threads wait actively."""
    with _busy_process():
        return _score(zip_file, extractor, os.environ | {WAIT_POLICY: "ACTIVE"})


def _score(zip_file: str, extractor: str, environment: Mapping[str, str]) -> Run:
    kennel = str(Path(sys.executable).with_name("kennel"))
    command = [kennel, "score", zip_file, "--reference", zip_file, "--extractor", extractor]
    begun = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
    return {"seconds": time.perf_counter() - begun}


@contextmanager
def _busy_process() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()
