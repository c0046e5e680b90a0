"""Kernel densities on two moons, generators whose copying is set by the bandwidth (Meehan et al. 2020, section 4)."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import KernelDensity

from scorer.metrics.copying.cells import partition_of
from scorer.metrics.copying.data_copying import CopyingReference, copying_reference_in, data_copying
from scorer.metrics.features import Vector
from scorer.metrics.sample_quality.frechet import Statistics, frechet_distance, statistics_of

CELLS = 5  # the authors' number for this data
FIRST_DRAW = 100  # seed of the first generated sample


def moons(count: int, seed: int) -> Vector:
    """Points of the two crescents with the paper's noise, (count, 2)."""
    return np.asarray(make_moons(count, noise=0.2, random_state=seed)[0], np.float64)


@dataclass(frozen=True)
class MoonsReading:
    """Results for one bandwidth over draws of 1,000 points: means, and standard deviations of single draws."""

    bandwidth: float
    c_t: float
    c_t_deviation: float
    overall_z: float
    fid: float
    fid_deviation: float
    gap: float
    """Mean log-likelihood of the training points less that of validation points."""
    likelihood: float
    """Mean log-likelihood of the validation points."""


class MoonsExperiment:
    """2,000 training, 1,000 held-out, 1,000 validation points, and the cells of the training points."""

    def __init__(self) -> None:
        self.training, self.held_out, self.validation = moons(2000, 0), moons(1000, 1), moons(1000, 2)

    @cached_property
    def reference(self) -> CopyingReference:
        """The reference of the data-copying test: cells, training and held-out distances."""
        return copying_reference_in(partition_of(self.training, CELLS, seed=0), self.training, self.held_out)

    @cached_property
    def _statistics(self) -> Statistics:
        return statistics_of(self.training)

    def likelihood(self, bandwidth: float) -> float:
        """Mean log-likelihood of the validation points."""
        return float(self._density(bandwidth).score(self.validation)) / len(self.validation)

    def read(self, bandwidth: float, draws: int) -> MoonsReading:
        """Draw ``draws`` samples from the kernel density and test each of them."""
        density = self._density(bandwidth)
        samples = [density.sample(1000, random_state=FIRST_DRAW + draw) for draw in range(draws)]
        results = [data_copying(each, self.reference) for each in samples]
        c_t = np.array([np.nan if each.c_t is None else each.c_t for each in results])
        fid = np.array([frechet_distance(statistics_of(each), self._statistics) for each in samples])
        likelihood = self.likelihood(bandwidth)
        return MoonsReading(
            bandwidth=bandwidth,
            c_t=float(c_t.mean()),
            c_t_deviation=float(c_t.std(ddof=1)) if draws > 1 else 0.0,
            overall_z=float(np.mean([each.overall.z for each in results])),
            fid=float(fid.mean()),
            fid_deviation=float(fid.std(ddof=1)) if draws > 1 else 0.0,
            gap=float(density.score(self.training)) / len(self.training) - likelihood,
            likelihood=likelihood,
        )

    def _density(self, bandwidth: float) -> KernelDensity:
        return KernelDensity(bandwidth=bandwidth).fit(self.training)


def crossing(readings: list[MoonsReading]) -> float | None:
    """The bandwidth where C_T changes from below 0 to above, by a straight line in its logarithm; None if nowhere."""
    for below, above in pairwise(readings):
        if below.c_t < 0.0 <= above.c_t:
            part = -below.c_t / (above.c_t - below.c_t)
            return float(below.bandwidth * (above.bandwidth / below.bandwidth) ** part)
    return None
