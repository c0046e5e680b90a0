"""NDB: the number of statistically different bins (Richardson and Weiss 2018), and NDB-over and NDB-under of cells."""

from dataclasses import dataclass

import numpy as np
import scipy

from scorer.errors import Invalid
from scorer.metrics.copying.cells import Partition, partition_of
from scorer.metrics.cosine import Indices
from scorer.metrics.features import Features, Vector

NDB_LEVEL = 0.05
BINS = 100  # the paper's


def excess_of(generated: Indices, held_out: Indices) -> Vector:
    """Z of each cell, (k,), from the numbers of images in it; 0 for a cell that has all images, or none.

    Raises :class:`Invalid` (``too-few-images``) if either kind has no image.
    """
    m, n = int(generated.sum()), int(held_out.sum())
    if not m or not n:
        raise Invalid("too-few-images", "At least one generated and one held-out image are needed.")
    pooled = (generated + held_out) / (m + n)
    variance = pooled * (1.0 - pooled) * (1.0 / n + 1.0 / m)
    decided = variance > 0.0
    difference = generated / m - held_out / n
    return np.where(decided, difference / np.sqrt(np.where(decided, variance, 1.0)), 0.0)


def ndb_of(excess: Vector, level: float = NDB_LEVEL) -> tuple[int, int]:
    """(NDB-over, NDB-under): how many cells have too many generated images, and how many too few."""
    limit = float(scipy.stats.norm.isf(level))
    return int((excess > limit).sum()), int((excess < -limit).sum())


def p_more(different: int, cells: int, level: float = NDB_LEVEL) -> float:
    """The probability that at least this many cells differ by chance, with cells taken as independent."""
    return float(scipy.stats.binom.sf(different - 1, cells, level))


def ndb_deviation(cells: int, level: float = NDB_LEVEL) -> float:
    """The standard deviation of the number of cells that differ by chance, with cells taken as independent."""
    return float(np.sqrt(cells * level * (1.0 - level)))


@dataclass(frozen=True, eq=False)
class TrainingBins:
    """Bins of a reference. ``training`` (k,) is the number of training images in each bin."""

    partition: Partition
    training: Indices


@dataclass(frozen=True, eq=False)
class BinComparison:
    """A comparison of the numbers of generated and training images in each bin, (k,)."""

    generated: Indices
    training: Indices
    excess: Vector
    """Z of each bin, (k,): above 0 it has too many generated images."""
    divergence: float
    """JS, in nats."""
    divergence_error: float
    """The standard error of ``divergence`` over the choice of generated images, for the same training images. From the
    delta method to second order, because the first order vanishes if both sets fill the bins alike."""

    @property
    def different(self) -> int:
        """NDB: the number of bins that differ at the 5 % level, two-sided."""
        return int((np.abs(self.excess) > scipy.stats.norm.isf(NDB_LEVEL / 2.0)).sum())

    @property
    def share(self) -> float:
        """NDB / K."""
        return self.different / len(self.excess)

    @property
    def deviation(self) -> float:
        """Standard deviation of NDB / K around 5 % for samples of one distribution, with bins taken as independent."""
        return ndb_deviation(len(self.excess)) / len(self.excess)

    @property
    def expected_divergence(self) -> float:
        """The mean of JS for samples of one distribution, to first order: (K - 1) (1/n + 1/m) / 8 for K filled bins."""
        filled = int(((self.generated + self.training) > 0).sum())
        return (filled - 1) * (1.0 / float(self.generated.sum()) + 1.0 / float(self.training.sum())) / 8.0

    @property
    def p_value(self) -> float:
        """p-value of the chi-squared test that both sets fill the bins alike; 1 for a single bin."""
        counts = np.stack((self.generated, self.training)).astype(np.float64)
        counts = counts[:, counts.sum(axis=0) > 0.0]
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
        statistic = float((np.square(counts - expected) / expected).sum())
        return float(scipy.stats.chi2.sf(statistic, counts.shape[1] - 1)) if counts.shape[1] > 1 else 1.0


def bins_of(training: Features, bins: int = BINS, *, seed: int) -> TrainingBins:
    """Draw bins around training features (m, d); raises the errors of :func:`partition_of`."""
    partition = partition_of(training, bins, seed=seed)
    return TrainingBins(partition, partition.counts(partition.cells_of(partition.project(training, "reference"))))


def compare_with_bins(generated: Features, bins: TrainingBins) -> BinComparison:
    """Count generated features (n, d) in the bins; raises the errors of :meth:`Partition.project`."""
    cells = bins.partition.cells_of(bins.partition.project(generated))
    return compare_counts(bins.partition.counts(cells), bins.training)


def compare_counts(generated: Indices, training: Indices) -> BinComparison:
    """Compare numbers of images in each bin, (k,) each. Raises :class:`Invalid` (``too-few-images``)."""
    excess = excess_of(generated, training)
    q, p = generated / generated.sum(), training / training.sum()
    own, variance = _half_divergence(q, p)
    divergence = own + _half_divergence(p, q)[0]
    # The second derivative of JS by a bin's share q is p / (2 q (p + q)); the variance of that share is about q / n.
    filled = generated > 0
    curvature = p[filled] / (2.0 * (p[filled] + q[filled]))
    error = float(np.sqrt(variance / generated.sum() + curvature @ curvature / (2.0 * float(generated.sum()) ** 2)))
    return BinComparison(generated, training, excess, max(0.0, divergence), error)


def _half_divergence(shares: Vector, others: Vector) -> tuple[float, float]:
    """Half of KL(shares, their middle), and the variance of one image's influence on the whole divergence."""
    filled = shares > 0.0
    own = shares[filled]
    influence = np.log(2.0 * own / (own + others[filled])) / 2.0
    mean = float(own @ influence)
    return mean, float(own @ np.square(influence - mean))
