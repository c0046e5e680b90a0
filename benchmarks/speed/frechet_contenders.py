"""The timed Fréchet distances: a submission's features against a reference's stored statistics.

Each returns ``seconds`` from features to distance, ``distance_seconds`` from the two sets of statistics, and ``fid``.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import linalg
from torch import nn
from torch_fidelity.metric_fid import KEY_METRIC_FID, fid_features_to_statistics, fid_statistics_to_metric
from torchmetrics.image.fid import FrechetInceptionDistance

from benchmarks.harness.isolation import THREADS, Run
from benchmarks.harness.synthetic import features
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of

Moments = tuple[NDArray[np.float64], NDArray[np.float64]]


def prepare(folder: str, dimension: int, count: int, reference: int) -> Run:
    """Write the submission's features and the reference's statistics."""
    destination = Path(folder)
    destination.mkdir(parents=True, exist_ok=True)
    np.save(destination / "generated.npy", features(count, dimension, 0))
    statistics = statistics_of(features(reference, dimension, 1))
    if statistics.factor is None:
        raise ValueError("a reference's statistics need their factor")
    parts = {"mean": statistics.mean, "covariance": statistics.covariance, "factor": statistics.factor}
    for name, array in parts.items():
        np.save(destination / f"{name}.npy", array)
    return {"count": statistics.count}


def kennel(folder: str, count: int) -> Run:
    """``statistics_of`` and ``frechet_distance``, with the factor stored with the reference.

    ``distance_seconds`` starts from statistics without the submission's factor, which ``statistics_of`` makes, since
    peers' statistics have none.
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


def scipy_sqrtm(folder: str, count: int) -> Run:  # noqa: ARG001 - a covariance is enough
    """The textbook formula: numpy's covariance and scipy's matrix square root of the product."""
    return _classic(folder, lambda product: float(np.trace(np.real(linalg.sqrtm(product)))))


def numpy_eigvals(folder: str, count: int) -> Run:  # noqa: ARG001
    """numpy's covariance and the square roots of the product's eigenvalues."""
    return _classic(folder, lambda product: float(np.sqrt(np.linalg.eigvals(product).astype(complex)).real.sum()))


def torch_fidelity(folder: str, count: int) -> Run:  # noqa: ARG001
    """torch-fidelity's statistics of features and its metric of two sets of statistics."""
    generated, (mean, covariance) = _prepared_inputs(folder)
    reference = {"mu": mean.astype(np.float32), "sigma": covariance}
    start = time.perf_counter()
    statistics = fid_features_to_statistics(torch.from_numpy(generated))
    half = time.perf_counter()
    value = fid_statistics_to_metric(statistics, reference, False)[KEY_METRIC_FID]
    return _timed(start, half, value)


def torchmetrics(folder: str, count: int) -> Run:
    """torchmetrics' metric over an identity network; the reference's sums are set as ``update`` would leave them."""
    torch.set_num_threads(THREADS)
    generated, (mean, covariance) = _prepared_inputs(folder)
    metric = FrechetInceptionDistance(feature=_Through(len(mean)))
    metric.real_features_sum = torch.from_numpy(mean * count)
    metric.real_features_cov_sum = torch.from_numpy(covariance * (count - 1) + count * np.outer(mean, mean))
    metric.real_features_num_samples = torch.tensor(count)
    rows = torch.from_numpy(generated)
    start = time.perf_counter()
    metric.update(rows, real=False)
    half = time.perf_counter()
    return _timed(start, half, float(metric.compute()))


class _Through(nn.Identity):
    """The identity network that torchmetrics needs: features in, features out."""

    def __init__(self, dimension: int) -> None:
        super().__init__()
        self.num_features = dimension


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
