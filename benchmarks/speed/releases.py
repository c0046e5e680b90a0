"""Benchmark of a data release with images: decoding and encoding an entry's images."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.harness.isolation import Run, Runner, Task, interleaved, timed
from benchmarks.harness.report import Findings, MarkdownTable, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median
from benchmarks.speed.tracks import SIDE, worker_context_in
from scorer.archive import ImageSpec
from scorer.import_export.data_release import PACKING_SECONDS_PER_PIXEL
from scorer.submissions.files import StoredZip
from worker.exports.data_release import repack_images

RANKED_2019 = 1_800
"""Entries in a release of the 2019 competition: those ranked on either board."""


class Size(NamedTuple):
    rounds: int = 3
    images: int = 10_000


FULL, QUICK = Size(), Size(1, 300)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    arguments = {"folder": str(folder), "count": size.images}
    run(Task("benchmarks.speed.tracks:prepare_submission", arguments))
    runs = interleaved({"Kennel": "benchmarks.speed.releases:pack"}, arguments, size.rounds, run=run)
    return [BenchmarkCase("packing", {"images": size.images, "size": SIDE}, runs)]


def findings(result: BenchmarkResult) -> Findings:
    (case,) = result.cases
    runs, images = case.runs["Kennel"], case.settings["images"]
    milliseconds = 1000 * compute_median(runs, "cpu_seconds") / images
    shown = 1000 * PACKING_SECONDS_PER_PIXEL * case.settings["size"] ** 2
    rows = [
        ("processor time, s", seconds(runs, "cpu_seconds")),
        ("processor time per image, ms", f"{milliseconds:.2f}"),
        (
            f"{RANKED_2019:,} entries of 10,000 images, hours on one core",
            f"{milliseconds / 1000 * RANKED_2019 * 10_000 / 3600:.1f}",
        ),
    ]
    targets = [
        Target(
            "time per image, relative to the estimate",
            milliseconds / shown,
            4 / 3,
            False,
            " x",
        ),
        Target(
            "time per image, relative to the estimate",
            milliseconds / shown,
            2 / 3,
            True,
            " x",
        ),
    ]
    return Findings([MarkdownTable(f"An entry of {images:,} images", ("", ""), rows)], targets)


def pack(folder: str, count: int) -> Run:
    context = worker_context_in(Path(folder))
    key = f"{count}.zip"
    stored = StoredZip(key, context.blobs.hash_blob(key).sha256, key)
    with TemporaryDirectory(dir=folder) as scratch:
        spec = ImageSpec(count, SIDE)
        return timed(lambda: repack_images(context, stored, spec, folder=Path(scratch), progress=lambda: None))
