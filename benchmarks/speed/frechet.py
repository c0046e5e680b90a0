"""Benchmark of the Fréchet distance between a submission's features and a reference's stored statistics.

The dimensions are those of Inception (2048) and NASNet (4032).

Each contender returns ``seconds`` from features to distance, ``distance_seconds`` from the two sets of statistics, and
``fid``. Each contender imports its own peer.
"""

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness.isolation import THREADS, Run, Runner, Task, interleaved
from benchmarks.harness.report import Findings, MarkdownTable, Target, ratio_spread, seconds, times
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult, compute_median
from benchmarks.harness.synthetic import features
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of

KENNEL, SQRTM, EIGVALS = "Kennel", "scipy sqrtm", "numpy eigvals"
CONTENDERS = {
    KENNEL: "benchmarks.speed.frechet:kennel",
    SQRTM: "benchmarks.speed.frechet:scipy_sqrtm",
    EIGVALS: "benchmarks.speed.frechet:numpy_eigvals",
    "torchmetrics": "benchmarks.speed.frechet:torchmetrics",
    "torch-fidelity": "benchmarks.speed.frechet:torch_fidelity",
}
LONG = 4000
"""From this dimension on, a matrix square root takes minutes and runs in only one round."""
BOUNDS = {SQRTM: 12.0, EIGVALS: 2.5}


class Size(NamedTuple):
    rounds: int = 3
    dimensions: tuple[int, ...] = (2048, 4032)
    images: int = 10_000
    reference: int = 20_579


FULL, QUICK = Size(), Size(1, (48, 64), 300, 600)


def measure(size: Size, folder: Path, run: Runner) -> list[BenchmarkCase]:
    cases = []
    for dimension in size.dimensions:
        inputs = str(folder / f"frechet-{dimension}")
        sizes = {"dimension": dimension, "count": size.images, "reference": size.reference}
        run(Task("benchmarks.speed.frechet:prepare", {"folder": inputs, **sizes}))
        max_rounds = {SQRTM: 1} if dimension >= LONG else {}
        arguments = {"folder": inputs, "count": size.reference}
        runs = interleaved(CONTENDERS, arguments, size.rounds, run=run, max_rounds=max_rounds)
        cases.append(BenchmarkCase(f"d = {dimension}", sizes, runs))
    return cases


def findings(result: BenchmarkResult) -> Findings:
    """A table and two targets for each dimension. Targets cover only the distance: all contenders compute the same
    covariance."""
    return Findings(
        [_table(case) for case in result.cases], [target for case in result.cases for target in _targets(case)]
    )


def _table(case: BenchmarkCase) -> MarkdownTable:
    kennel_runs = case.runs[KENNEL]
    rows = [
        (
            name,
            seconds(runs),
            f"{times(runs, kennel_runs):.1f}",
            seconds(runs, "distance_seconds"),
            f"{times(runs, kennel_runs, 'distance_seconds'):.1f}",
            f"{compute_median(runs, 'fid') / compute_median(kennel_runs, 'fid') - 1:+.0e}",
        )
        for name, runs in case.runs.items()
    ]
    title = f"{case.name}, {case.settings['count']:,} images, a reference of {case.settings['reference']:,}"
    header = ("", "per submission, s", "x", "from statistics, s", "x", "difference from Kennel")
    return MarkdownTable(title, header, rows)


def _targets(case: BenchmarkCase) -> list[Target]:
    kennel_runs, key = case.runs[KENNEL], "distance_seconds"
    return [
        Target(
            f"{case.name}: faster than {name}",
            times(case.runs[name], kennel_runs, key),
            bound,
            True,
            " x",
            ratio_spread(case.runs[name], kennel_runs, key),
        )
        for name, bound in BOUNDS.items()
    ]


Moments = tuple[NDArray[np.float64], NDArray[np.float64]]


def prepare(folder: str, dimension: int, count: int, *, reference: int) -> Run:
    """Write the submission's features and the reference's statistics."""
    destination = Path(folder)
    destination.mkdir(parents=True, exist_ok=True)
    np.save(destination / "generated.npy", features(count, dimension, 0))
    statistics = statistics_of(features(reference, dimension, 1))
    for name in ("mean", "covariance", "factor"):
        np.save(destination / f"{name}.npy", getattr(statistics, name))
    return {"count": statistics.count}


def kennel(folder: str, count: int) -> Run:
    """``statistics_of`` and ``frechet_distance``, with the factor stored with the reference.

    ``distance_seconds`` starts from statistics without the submission's factor, because peers' statistics have none.
    """
    generated, (mean, covariance) = _prepared_inputs(folder)
    reference = Statistics(mean, covariance, count, np.load(Path(folder) / "factor.npy"))
    start = time.perf_counter()
    statistics = statistics_of(generated)
    value = frechet_distance(statistics, reference)
    end = time.perf_counter()
    bare = Statistics(statistics.mean, statistics.covariance, statistics.count)
    again = time.perf_counter()
    frechet_distance(bare, reference)
    return {"seconds": end - start, "distance_seconds": time.perf_counter() - again, "fid": value}


def scipy_sqrtm(folder: str, count: int) -> Run:  # noqa: ARG001 - needs only a covariance
    """The textbook formula: numpy's covariance and scipy's matrix square root of the product."""
    from scipy import linalg  # noqa: PLC0415

    return _classic(folder, lambda product: float(np.trace(np.real(linalg.sqrtm(product)))))


def numpy_eigvals(folder: str, count: int) -> Run:  # noqa: ARG001
    """numpy's covariance and the square roots of the product's eigenvalues."""
    return _classic(folder, lambda product: float(np.sqrt(np.linalg.eigvals(product).astype(complex)).real.sum()))


def torch_fidelity(folder: str, count: int) -> Run:  # noqa: ARG001
    """torch-fidelity's statistics of features and its metric of two sets of statistics."""
    import torch  # noqa: PLC0415
    from torch_fidelity import metric_fid  # noqa: PLC0415

    generated, (mean, covariance) = _prepared_inputs(folder)
    reference = {"mu": mean.astype(np.float32), "sigma": covariance}
    start = time.perf_counter()
    statistics = metric_fid.fid_features_to_statistics(torch.from_numpy(generated))
    half = time.perf_counter()
    value = metric_fid.fid_statistics_to_metric(statistics, reference, False)[metric_fid.KEY_METRIC_FID]
    return _timed(start, half, value)


def torchmetrics(folder: str, count: int) -> Run:
    """torchmetrics' metric over an identity network. The reference's sums are set to what ``update`` would compute."""
    import torch  # noqa: PLC0415
    from torchmetrics.image.fid import FrechetInceptionDistance  # noqa: PLC0415

    torch.set_num_threads(THREADS)
    generated, (mean, covariance) = _prepared_inputs(folder)
    identity: Any = torch.nn.Identity()
    identity.num_features = len(mean)
    metric = FrechetInceptionDistance(feature=identity)
    metric.real_features_sum = torch.from_numpy(mean * count)
    metric.real_features_cov_sum = torch.from_numpy(covariance * (count - 1) + count * np.outer(mean, mean))
    metric.real_features_num_samples = torch.tensor(count)
    rows = torch.from_numpy(generated)
    start = time.perf_counter()
    metric.update(rows, real=False)
    half = time.perf_counter()
    return _timed(start, half, float(metric.compute()))


def _prepared_inputs(folder: str) -> tuple[NDArray[np.float32], Moments]:
    where = Path(folder)
    return np.load(where / "generated.npy"), (np.load(where / "mean.npy"), np.load(where / "covariance.npy"))


def _classic(folder: str, trace_of_root: Any) -> Run:
    generated, (mean, covariance) = _prepared_inputs(folder)
    start = time.perf_counter()
    own_mean = generated.mean(axis=0, dtype=np.float64)
    own_covariance = np.cov(generated, rowvar=False)
    half = time.perf_counter()
    shift = own_mean - mean
    root = trace_of_root(own_covariance @ covariance)
    value = float(shift @ shift + np.trace(own_covariance) + np.trace(covariance) - 2 * root)
    return _timed(start, half, value)


def _timed(start: float, half: float, value: float) -> Run:
    end = time.perf_counter()
    return {"seconds": end - start, "distance_seconds": end - half, "fid": value}
