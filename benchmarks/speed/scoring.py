"""Benchmark from a zip of 1,000 images to a score: Kennel and peers with the same network and reference."""

from pathlib import Path
from typing import NamedTuple

from benchmarks.harness.isolation import Runner, Task, interleaved
from benchmarks.harness.report import Findings, MarkdownTable, Target, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median

KENNEL = "Kennel"
SAME_PIXELS = ("torch-fidelity", "pytorch-fid", "torchmetrics")
"""Peers that show the network the same pixels, so their number must equal Kennel's."""
CONTENDERS = {
    KENNEL: "benchmarks.speed.scoring_contenders:kennel",
    "torchmetrics": "benchmarks.speed.scoring_contenders:torchmetrics",
    "torch-fidelity": "benchmarks.speed.scoring_contenders:torch_fidelity",
    "pytorch-fid": "benchmarks.speed.scoring_contenders:pytorch_fid",
    "clean-fid": "benchmarks.speed.scoring_contenders:clean_fid",
}
DETAILS = {
    KENNEL: "MiFID; batches of 8; decoding in threads",
    "torchmetrics": "MiFID, with exchanged roles for the right direction; batches of 32",
    "torch-fidelity": "FID only; batches of 64, 4 loading processes (its defaults)",
    "pytorch-fid": "FID only; batches of 50, a loading process per core (its defaults)",
    "clean-fid": "FID only, bicubic resizing; batches of 32 (its default), a loading process per core (default: 12)",
}
AGREEMENT = 1e-3


class Size(NamedTuple):
    rounds: int = 3
    networks: tuple[str, ...] = ("inception_v3", "efficientnet_lite0")
    images: int = 1000
    reference: int = 20_579


FULL, QUICK = Size(), Size(1, ("small",), 40, 600)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    cases = []
    for network in size.networks:
        inputs = folder / network
        sizes = {"count": size.images, "reference_count": size.reference, "source_count": min(size.images, 800)}
        run(Task("benchmarks.speed.scoring_inputs:prepare", {"folder": str(inputs), "network": network, **sizes}))
        arguments = {"folder": str(inputs), "network": network, "count": size.images}
        cases.append(BenchmarkCase(network, sizes, interleaved(CONTENDERS, arguments, size.rounds, run=run)))
    return cases


def findings(result: BenchmarkResult) -> Findings:
    tables = [table for case in result.cases for table in (_speed(case), _stages(case))]
    targets = [target for case in result.cases for target in _targets(case)]
    return Findings(tables, targets, [_penalty_note(case) for case in result.cases])


def _speed(case: BenchmarkCase) -> MarkdownTable:
    rows = []
    for name, runs in case.runs.items():
        rate = case.settings["count"] / compute_median(runs)
        forward = compute_median(runs, "forward_seconds") / compute_median(runs)
        ratio = f"{times(runs, case.runs[KENNEL]):.2f}"
        off = "" if name == KENNEL else f"{_deviation(case, name):.1e}"
        rows.append((f"{name} ({DETAILS[name]})", seconds(runs), f"{rate:.1f}", ratio, f"{forward:.1%}", off))
    title = f"{case.name}, {case.settings['count']:,} images, {case.settings['reference_count']:,} reference rows"
    return MarkdownTable(title, ("", "seconds", "images/s", "x", "forward", "difference from Kennel"), rows)


def _deviation(case: BenchmarkCase, name: str) -> float:
    """The relative deviation of the peer's MiFID from Kennel's, or of its FID if it has no MiFID."""
    other_runs, kennel_runs = case.runs[name], case.runs[KENNEL]
    key = "mifid" if "mifid" in other_runs[0] else "fid"
    return abs(compute_median(other_runs, key) / compute_median(kennel_runs, key) - 1)


def _stages(case: BenchmarkCase) -> MarkdownTable:
    runs = case.runs[KENNEL]
    stages = ("decode", "features", "forward", "neighbours", "frechet")
    rows = [
        (stage if stage != "forward" else "features: forward pass", seconds(runs, f"{stage}_seconds"))
        for stage in stages
    ]
    rows.append(("everything except the forward pass", f"{_other_share(case):.1%}"))
    return MarkdownTable(f"{case.name}: Kennel's stages", ("", "seconds"), rows)


def _other_share(case: BenchmarkCase) -> float:
    runs = case.runs[KENNEL]
    return 1 - compute_median(runs, "forward_seconds") / compute_median(runs)


def _targets(case: BenchmarkCase) -> list[Target]:
    targets = []
    if case.name == "inception_v3":
        peers = {name: times(runs, case.runs[KENNEL]) for name, runs in case.runs.items() if name != KENNEL}
        fastest = min(peers, key=peers.__getitem__)
        targets = [
            Target(f"{case.name}: faster than the fastest peer ({fastest})", peers[fastest], 1.8, True, " x"),
            Target(f"{case.name}: time outside the forward pass", 100 * _other_share(case), 8, False, " %"),
        ]
    worst = max(_deviation(case, name) for name in SAME_PIXELS)
    agreement = f"{case.name}: peers with the same pixels get the same number"
    return [*targets, Target(agreement, worst, AGREEMENT, False, " relative")]


def _penalty_note(case: BenchmarkCase) -> str:
    kennel_runs = case.runs[KENNEL]
    fid, distance, score = (compute_median(kennel_runs, key) for key in ("fid", "distance", "mifid"))
    return f"{case.name}: FID {fid:.6g}, memorization distance {distance:.6g}, MiFID at tau = 1 {score:.6g}."
