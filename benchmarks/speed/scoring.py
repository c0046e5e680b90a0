"""Benchmark from a zip of 1,000 images to a score: Kennel and peers with the same network and reference."""

from pathlib import Path

from benchmarks.harness.isolation import Runner, Task
from benchmarks.harness.plan import BenchmarkPlan
from benchmarks.harness.report import MarkdownTable, Section, Target, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.harness.rounds import Contender, interleaved, median_of

NAME = "scoring"
KENNEL = "Kennel"
SAME_PIXELS = ("torch-fidelity", "pytorch-fid")
"""Peers whose FID must equal Kennel's: they show the network the same pixels."""
CONTENDERS = tuple(
    Contender(name, f"benchmarks.speed.scoring_contenders:{function}")
    for name, function in (
        (KENNEL, "kennel"),
        ("torchmetrics", "torchmetrics"),
        ("torch-fidelity", "torch_fidelity"),
        ("pytorch-fid", "pytorch_fid"),
        ("clean-fid", "clean_fid"),
    )
)
DETAILS = {
    KENNEL: "MiFID; batches of 8; decoding in threads",
    "torchmetrics": "MiFID, roles exchanged to get its direction right; batches of 32",
    "torch-fidelity": "FID only; batches of 64, 4 loading processes (its defaults)",
    "pytorch-fid": "FID only; batches of 50, a loading process per core (its defaults)",
    "clean-fid": "FID only, bicubic resizing; batches of 32 (its default), a loading process per core (default: 12)",
}
AGREEMENT = 1e-3
_SCORING = (
    *(
        "client/kennel_client/archive",
        "scorer/archive",
        "scorer/extractors",
        "scorer/metrics/cosine.py",
        "scorer/metrics/memorization.py",
    ),
    *("scorer/metrics/sample_quality/frechet.py", "worker/scoring/measure.py", "worker/scoring/score.py"),
)
TIMED = dict.fromkeys((KENNEL, "decode", "features", "of features", "neighbours", "frechet", "all but"), _SCORING)


def measure(plan: BenchmarkPlan, folder: Path, run: Runner) -> list[BenchmarkCase]:
    """One case for each network."""
    cases = []
    for network in plan.networks:
        inputs = folder / network
        sizes = {"count": plan.scored, "reference_count": plan.reference, "source_count": min(plan.scored, 800)}
        run(Task("benchmarks.speed.scoring_inputs:prepare", {"folder": str(inputs), "network": network, **sizes}))
        arguments = {"folder": str(inputs), "network": network, "count": plan.scored}
        cases.append(BenchmarkCase(network, sizes, interleaved(CONTENDERS, arguments, plan.rounds, run)))
    return cases


def section(result: BenchmarkResult) -> Section:
    """Two tables and the targets of each network; targets for speed are set for Inception only."""
    tables = [table for case in result.cases for table in (_speed(case), _stages(case))]
    targets = [target for case in result.cases for target in _targets(case)]
    notes = [_penalty_note(case) for case in result.cases]
    return Section("From a zip to a score", METHOD, tables, targets, notes, TIMED)


METHOD = """\
The same zip of 64 x 64 PNGs (tiles of real photographs), the same network with the same weights (Inception-v3's are
random, from a seed) and the same reference. Every peer runs timm's plain module in place of its own network. The
reference's statistics and features are prepared and loaded before the clock starts, and so is the network. Peers that
read folders unpack the zip first. Kennel's time is that of the worker's own functions: deep check and decoding, hashes
of copies, features, nearest neighbours, Fréchet distance, penalty. Peers without MiFID compute FID alone, which is less
work. *forward* is the share of the time inside the network's forward pass."""


def _peers(case: BenchmarkCase) -> dict[str, float]:
    """How many times as long as Kennel each peer took."""
    return {name: times(runs, case.runs[KENNEL]) for name, runs in case.runs.items() if name != KENNEL}


def _speed(case: BenchmarkCase) -> MarkdownTable:
    rows = []
    for name, runs in case.runs.items():
        rate = case.settings["count"] / median_of(runs)
        forward = median_of(runs, "forward_seconds") / median_of(runs)
        ratio = f"{times(runs, case.runs[KENNEL]):.2f}"
        rows.append(
            (f"{name} ({DETAILS[name]})", seconds(runs), f"{rate:.1f}", ratio, f"{forward:.1%}", _value(case, name))
        )
    title = f"{case.name}, {case.settings['count']:,} images, {case.settings['reference_count']:,} reference rows"
    return MarkdownTable(title, ("", "seconds", "images/s", "x", "forward", "off Kennel's number by"), rows, case.name)


def _value(case: BenchmarkCase, name: str) -> str:
    """The relative deviation of the peer's MiFID, or of its FID if it has no MiFID, from Kennel's."""
    return "" if name == KENNEL else f"{_deviation(case, name):.1e}"


def _deviation(case: BenchmarkCase, name: str) -> float:
    theirs, ours = case.runs[name], case.runs[KENNEL]
    key = "mifid" if "mifid" in theirs[0] else "fid"
    return abs(median_of(theirs, key) / median_of(ours, key) - 1)


def _stages(case: BenchmarkCase) -> MarkdownTable:
    runs = case.runs[KENNEL]
    stages = ("decode", "features", "forward", "neighbours", "frechet")
    rows = [
        (stage if stage != "forward" else "of features: forward pass", seconds(runs, f"{stage}_seconds"))
        for stage in stages
    ]
    rows.append(("all but the forward pass", f"{_other_share(case):.1%}"))
    return MarkdownTable(f"{case.name}: where Kennel's time goes", ("", "seconds"), rows, case.name)


def _other_share(case: BenchmarkCase) -> float:
    runs = case.runs[KENNEL]
    return 1 - median_of(runs, "forward_seconds") / median_of(runs)


def _targets(case: BenchmarkCase) -> list[Target]:
    targets = []
    if case.name == "inception_v3":
        fastest = min(_peers(case), key=_peers(case).__getitem__)
        targets = [
            Target(f"{case.name}: faster than the fastest peer ({fastest})", _peers(case)[fastest], 1.8, True, " x"),
            Target(f"{case.name}: time outside the forward pass", 100 * _other_share(case), 8, False, " %"),
        ]
    worst = max(_deviation(case, name) for name in (*SAME_PIXELS, "torchmetrics"))
    agreement = f"{case.name}: peers that see the same pixels get the same number"
    return [*targets, Target(agreement, worst, AGREEMENT, False, " relative")]


def _penalty_note(case: BenchmarkCase) -> str:
    ours = case.runs[KENNEL]
    fid, distance, score = (median_of(ours, key) for key in ("fid", "distance", "mifid"))
    return f"{case.name}: FID {fid:.6g}, memorization distance {distance:.6g}, MiFID at tau = 1 {score:.6g}."
