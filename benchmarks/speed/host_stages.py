"""Benchmark of decoding an entry in threads and in limited processes: most of the host's work next to a GPU.

Each contender returns ``seconds`` and, over all threads and processes, ``cpu_seconds``.
"""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.harness.isolation import Run, Runner, Task, interleaved, timed
from benchmarks.harness.report import Findings, MarkdownTable, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.speed.tracks import SIDE, no_progress
from scorer.archive import ImageSpec
from scorer.blobs import Blobs
from scorer.submissions.files import StoredZip
from worker.runtime import decoded_images

DECODING = "decoding"
DECODERS = {
    "in threads of the worker": "benchmarks.speed.host_stages:in_threads",
    "by one limited process": "benchmarks.speed.host_stages:by_one_process",
    "by two limited processes": "benchmarks.speed.host_stages:by_two_processes",
}


class Size(NamedTuple):
    rounds: int = 3
    images: int = 10_000


FULL, QUICK = Size(), Size(1, 300)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    arguments = {"folder": str(folder), "count": size.images}
    run(Task("benchmarks.speed.tracks:prepare_submission", arguments))
    return [BenchmarkCase(DECODING, {"count": size.images}, interleaved(DECODERS, arguments, size.rounds, run=run))]


def findings(result: BenchmarkResult) -> Findings:
    tables = []
    for case in result.cases:
        first = next(iter(case.runs.values()))
        rows = [
            (name, seconds(runs), f"{times(runs, first):.2f}", seconds(runs, "cpu_seconds"))
            for name, runs in case.runs.items()
        ]
        title = f"{'Decoding' if case.name == DECODING else case.name}, {case.settings['count']:,} images"
        tables.append(MarkdownTable(title, ("", "seconds", "x", "processor seconds"), rows))
    return Findings(tables)


def _decoded(folder: str, count: int, processes: int) -> Run:
    blobs = Blobs((Path(folder) / "blobs").as_uri())
    stored = StoredZip(f"{count}.zip", blobs.hash_blob(f"{count}.zip").sha256, str(count))
    spec = ImageSpec(count, SIDE)
    with TemporaryDirectory(dir=folder) as scratch:
        path = Path(scratch) / "images.npy"
        return timed(
            lambda: decoded_images.decode(blobs, stored, spec, path=path, progress=no_progress, processes=processes)
        )


in_threads, by_one_process, by_two_processes = (partial(_decoded, processes=number) for number in range(3))
