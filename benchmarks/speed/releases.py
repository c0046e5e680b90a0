"""Benchmark of a data release with images: an entry's images decoded and encoded anew."""

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness.isolation import Run, Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.processor_time import timed
from benchmarks.harness.report import MarkdownTable, Section, Target, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of
from benchmarks.harness.worker_context import worker_context_in
from benchmarks.speed.tracks_contenders import SIZE
from scorer.archive import ImageSpec
from scorer.import_export.data_release import PACKING_SECONDS_PER_PIXEL
from scorer.submissions.files import StoredZip
from worker.exports.data_release import repack_images

NAME = "releases"
KENNEL = "Kennel"
TIMED = {
    "": (
        *("scorer/archive", "client/kennel_client/archive"),
        *("worker/exports/data_release.py", "worker/runtime/decoded_images.py"),
    )
}
PACKED = Contender(KENNEL, "benchmarks.speed.releases:pack")
RANKED_2019 = 1_800
"""Entries that a release of the competition of 2019 has: those that were ranked on either board."""


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case: an entry of photographs, each with noise of its own."""
    arguments = {"folder": str(folder), "count": plan.generated}
    run(Task("benchmarks.speed.tracks_contenders:prepare_submission", arguments))
    runs = interleaved([PACKED], arguments, plan.rounds, run)
    return [BenchmarkCase("packing", {"images": plan.generated, "size": SIZE}, runs)]


METHOD = f"""\
The zip of an entry, in a store that is a folder, is decoded by as many limited processes as there are cores and encoded
as another by one, as a release does for each of its entries. Its images are photographs of {SIZE} x {SIZE} pixels, each
with noise of its own. Seconds are those of processors, over all processes: what a core takes that has no other work.
The page of releases tells a time that it computes from the processor time of a pixel: the targets hold that to what is
measured here, within the third by which machines differ."""


def section(result: BenchmarkResult) -> Section:
    """The table, and a target on the time that the page of releases tells."""
    case = result.cases[0]
    runs, images = case.runs[KENNEL], case.settings["images"]
    milliseconds = 1000 * median_of(runs, "cpu_seconds") / images
    told = 1000 * PACKING_SECONDS_PER_PIXEL * case.settings["size"] ** 2
    hours = milliseconds / 1000 * RANKED_2019 * 10_000 / 3600
    rows = [
        ("processor time, s", seconds(runs, "cpu_seconds")),
        ("processor time of an image, ms", f"{milliseconds:.2f}"),
        (f"{RANKED_2019:,} entries of 10,000 images, hours of one core", f"{hours:.1f}"),
    ]
    targets = [
        Target("an image takes no longer than the page tells, by a third", milliseconds / told, 4 / 3, False, " x"),
        Target("an image takes no less than the page tells, by a third", milliseconds / told, 2 / 3, True, " x"),
    ]
    table = MarkdownTable(f"An entry of {images:,} images", ("", ""), rows)
    return Section("Data releases with images", METHOD, [table], targets, timed=TIMED)


def pack(folder: str, count: int) -> Run:
    """Pack the images of a stored zip anew."""
    context = worker_context_in(Path(folder))
    key = f"{count}.zip"
    stored = StoredZip(key, context.blobs.hash_blob(key).sha256)
    with TemporaryDirectory(dir=folder) as scratch:
        spec = ImageSpec(count, SIZE)
        return timed(lambda: repack_images(context, stored, spec, Path(scratch), lambda: None))
