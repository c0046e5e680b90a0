"""C_T of kernel densities on two moons, by bandwidth.

For comparison: the Fréchet distance, the likelihood gap and the other tests in the figures of Meehan et al.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import KernelDensity

from benchmarks.harness.report import MAIN, render_markdown
from benchmarks.harness.results import read_results
from scorer.metrics.copying.cells import partition_of
from scorer.metrics.copying.data_copying import Scope, copying_reference_in, data_copying
from scorer.metrics.copying.ndb import bins_of, compare_with_bins
from scorer.metrics.features import Vector
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.metrics.sample_quality.prd import prd
from scorer.metrics.sample_quality.relative_mmd import relative_mmd
from scorer.metrics.sample_quality.two_sample import two_sample

BASELINES = {
    "nearest_training": "1-NN accuracy on training points (0.5: indistinguishable)",
    "nearest_generated": "1-NN accuracy on generated points",
    "ndb": "NDB / K (0.05: indistinguishable)",
    "recall": "PRD, F8 (recall)",
    "precision": "PRD, F1/8 (precision)",
    "mmd_p": "Relative MMD: p that generated points are closer than held-out points",
}
"""The two-sample and three-sample tests that the paper compares with C_T (its figures 2 and 10)."""
CELLS = 5  # the authors' choice for this data
FIRST_DRAW = 100  # seed of the first generated sample


def moons(count: int, seed: int) -> Vector:
    """Points of the two moons with the paper's noise; (count, 2)."""
    return np.asarray(make_moons(count, noise=0.2, random_state=seed)[0], np.float64)


@dataclass(frozen=True)
class Spread:
    """A statistic over draws: its mean, and the standard deviation of single draws."""

    mean: float
    deviation: float


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
    """Mean log-likelihood of the training points minus that of the validation points."""
    likelihood: float
    """Mean log-likelihood of the validation points."""
    baselines: Mapping[str, Spread]
    """The paper's other tests, by the names of :data:`BASELINES`."""


class MoonsExperiment:
    """2,000 training, 1,000 held-out, 1,000 validation points, and the cells of the training points.

    If ``authors``, the data-copying test within cells and the variance of the relative MMD test follow their authors'
    code.
    """

    def __init__(self, *, authors: bool = False) -> None:
        self.authors = authors
        self.training, self.held_out, self.validation = moons(2000, 0), moons(1000, 1), moons(1000, 2)
        cells = partition_of(self.training, CELLS, seed=0)
        self.reference = copying_reference_in(cells, self.training, self.held_out)
        self._statistics, self._bins = statistics_of(self.training), bins_of(self.training, seed=0)

    def likelihood(self, bandwidth: float) -> float:
        return float(self._density(bandwidth).score(self.validation)) / len(self.validation)

    def read(self, bandwidth: float, draws: int) -> MoonsReading:
        """Draw ``draws`` samples from the kernel density and test each of them."""
        density = self._density(bandwidth)
        samples = [density.sample(1000, random_state=FIRST_DRAW + draw) for draw in range(draws)]
        scope: Scope = "authors" if self.authors else "global"
        results = [data_copying(sample, self.reference, scope=scope) for sample in samples]
        c_t = _spread([np.nan if result.c_t is None else result.c_t for result in results])
        fid = _spread([frechet_distance(statistics_of(sample), self._statistics) for sample in samples])
        likelihood = self.likelihood(bandwidth)
        baselines = [self._baselines(sample, draw) for draw, sample in enumerate(samples)]
        return MoonsReading(
            bandwidth=bandwidth,
            c_t=c_t.mean,
            c_t_deviation=c_t.deviation,
            overall_z=float(np.mean([result.overall.z for result in results])),
            fid=fid.mean,
            fid_deviation=fid.deviation,
            gap=float(density.score(self.training)) / len(self.training) - likelihood,
            likelihood=likelihood,
            baselines={name: _spread([values[name] for values in baselines]) for name in BASELINES},
        )

    def _baselines(self, sample: Vector, draw: int) -> dict[str, float]:
        """The other tests on a generated sample (n, 2), by the names of :data:`BASELINES`."""
        random = np.random.default_rng([draw, len(sample)])
        neighbours = two_sample(sample, self.training, random=random)
        curve = prd(sample, self.training, random=random, clusterings=1)
        mmd = relative_mmd(sample, self.training, self.held_out, random=random, authors=self.authors)
        return {
            "nearest_training": neighbours.real.share,
            "nearest_generated": neighbours.generated.share,
            "ndb": compare_with_bins(sample, self._bins).share,
            "recall": curve.mean.recall,
            "precision": curve.mean.precision,
            "mmd_p": mmd.p_closer,
        }

    def _density(self, bandwidth: float) -> KernelDensity:
        return KernelDensity(bandwidth=bandwidth).fit(self.training)


def _spread(values: Sequence[float]) -> Spread:
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


def crossing(readings: list[MoonsReading]) -> float | None:
    """The bandwidth where C_T crosses 0 upwards, interpolated linearly in its logarithm; None if it does not."""
    for below, above in pairwise(readings):
        if below.c_t < 0.0 <= above.c_t:
            part = -below.c_t / (above.c_t - below.c_t)
            return float(below.bandwidth * (above.bandwidth / below.bandwidth) ** part)
    return None


FULL, QUICK = 10, 2
"""Draws for each bandwidth. The paper has ten."""
BANDWIDTHS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.065, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1.0]
FINE = np.geomspace(0.03, 0.4, 80)  # candidates for the likeliest bandwidth


def measure(draws: int, *_: object) -> dict[str, Any]:
    """The readings of all bandwidths, the likeliest bandwidth, and where C_T crosses 0."""
    experiment = MoonsExperiment()
    readings = [experiment.read(bandwidth, draws) for bandwidth in BANDWIDTHS]
    likeliest = float(FINE[np.argmax([experiment.likelihood(bandwidth) for bandwidth in FINE])])
    rows = [asdict(reading) for reading in readings]
    return {"draws": draws, "likeliest": likeliest, "crossing": crossing(readings), "readings": rows}


def parts() -> dict[str, str]:
    result = read_results("copying_moons")[0]
    measured = result.measured
    header = ("bandwidth", "C_T", "Z_U", "Fréchet distance", "likelihood gap", *BASELINES.values())
    rows = [
        (
            f"{reading['bandwidth']:g}",
            f"{reading['c_t']:.2f} ± {reading['c_t_deviation']:.2f}",
            f"{reading['overall_z']:.2f}",
            f"{reading['fid']:.4f} ± {reading['fid_deviation']:.4f}",
            f"{reading['gap']:.3g}",
            *(
                f"{reading['baselines'][name]['mean']:.3f} ± {reading['baselines'][name]['deviation']:.3f}"
                for name in BASELINES
            ),
        )
        for reading in measured["readings"]
    ]
    found = f"C_T is 0 at {measured['crossing']:.2f}; the likeliest bandwidth is {measured['likeliest']:.2f}."
    facts = result.machine
    when = f"Stored {facts['date']} by `{result.command}` at commit {facts['commit']}, processor {facts['processor']}."
    return {MAIN: "\n".join([found, "", *render_markdown(header, rows), "", when])}
