"""Benchmark of both tracks of one zip: decoded once, and in memory that does not grow with it."""

from pathlib import Path

from benchmarks.harness.isolation import Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, mebibytes, seconds
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of
from scorer import extractor_catalogue

NAME = "tracks"
KENNEL = "Kennel"
TIMED = {
    "": (
        *(
            "client/kennel_client/archive",
            "scorer/archive",
            "scorer/extractors",
            "scorer/metrics/cosine.py",
            "scorer/metrics/memorization.py",
        ),
        *("scorer/metrics/sample_quality/frechet.py", "worker/scoring/measure.py", "worker/scoring/score.py"),
    )
}
WORKER = Contender(KENNEL, "benchmarks.speed.tracks_contenders:both_tracks", max_rounds=1)
FLAT = 1.5
"""Allowed growth of peak memory. Features grow with the images, in float32 and once in float64 (15 kB an image at
d = 1280), and so do the mapped pixels (12 kB); memory of decoding, resizing and the networks must not."""


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case for each number of images; one round each, since memory hardly varies and time has no target."""
    inputs = str(folder / NAME)
    for track in sorted(set(plan.tracks)):
        spec = extractor_catalogue.find_extractor(track)
        sizes = {"key": spec.name, "dimension": spec.dimension, "reference": plan.reference}
        run(Task("benchmarks.speed.tracks_contenders:prepare_reference", {"folder": inputs, **sizes}))
    cases = []
    for count in plan.images:
        run(Task("benchmarks.speed.tracks_contenders:prepare_submission", {"folder": inputs, "count": count}))
        arguments = {"folder": inputs, "count": count, "tracks": list(plan.tracks)}
        runs = interleaved([WORKER], arguments, plan.rounds, run)
        cases.append(
            BenchmarkCase(str(count), {"count": count, "tracks": plan.tracks, "reference": plan.reference}, runs)
        )
    return cases


METHOD = """\
A zip of noisy photographs is checked and decoded into one mapped array, and both tracks are measured from that array,
in one process that holds both networks, as a worker does it. Peak memory counts mapped files too: the images, and of
each reference the features, which the system can drop at any time."""


def section(result: BenchmarkResult) -> Section:
    """The table, and the targets for decoding and memory."""
    cases = sorted(result.cases, key=lambda case: case.settings["count"])
    rows = [
        (
            f"{case.settings['count']:,}",
            seconds(case.runs[KENNEL]),
            f"{median_of(case.runs[KENNEL], 'decoded'):,.0f}",
            mebibytes(case.runs[KENNEL]) if _has_peak(case) else "",
        )
        for case in cases
    ]
    public, private = cases[0].settings["tracks"]
    title = f"{public} in public, {private} in private, references of {cases[0].settings['reference']:,}"
    table = MarkdownTable(title, ("images", "seconds", "images decoded", "peak, MiB"), rows)
    return Section("Both tracks of one zip", METHOD, [table], _targets(cases), timed=TIMED)


def _has_peak(case: BenchmarkCase) -> bool:
    return "peak_bytes" in case.runs[KENNEL][0]


def _targets(cases: list[BenchmarkCase]) -> list[Target]:
    decoded = max(median_of(case.runs[KENNEL], "decoded") / case.settings["count"] for case in cases)
    targets = [Target("times that an image is decoded", decoded, 1, False)]
    if all(_has_peak(case) for case in cases):
        peaks = [median_of(case.runs[KENNEL], "peak_bytes") for case in cases]
        first, last = cases[0].settings["count"], cases[-1].settings["count"]
        growth = f"peak memory at {last:,} images over that at {first:,}"
        targets += [
            Target(growth, peaks[-1] / peaks[0], FLAT, False),
            Target("peak memory", max(peaks) / 1e9, 3, False, " GB"),
        ]
    return targets
