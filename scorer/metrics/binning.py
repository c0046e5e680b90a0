"""Bins drawn by the training images, and which of them hold another share of the generated ones.

    NDB / K = the share of K bins with |Z| > z(1 - alpha / 2)                       (Richardson and Weiss 2018)
    JS = KL(p, (p + q) / 2) / 2 + KL(q, (p + q) / 2) / 2   in nats, 0 to ln 2

Z compares the shares p of the training and q of the generated images in a bin (:mod:`scorer.metrics.representation`).
Where nothing is wrong, alpha = 5 % of the bins differ. The p-value is that of the chi-squared test of all bins
together. Both lean a little towards "different", since the bins were fitted to the training images. Copies of training
images fill the bins as they should: this test does not see them (Meehan et al. 2020, section 4.1).
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2, norm

from scorer.errors import Invalid
from scorer.metrics.cosine import Indices
from scorer.metrics.features import Features, Vector
from scorer.metrics.partition import Partition, partition_of
from scorer.metrics.representation import LEVEL, excess_of

BINS = 100  # the paper's


@dataclass(frozen=True, eq=False)
class Bins:
    """What entries are counted in, prepared once for a reference. ``training`` (k,): training images in each bin."""

    partition: Partition
    training: Indices


@dataclass(frozen=True, eq=False)
class Binning:
    """Numbers of generated and training images by bin, (k,), compared."""

    generated: Indices
    training: Indices
    excess: Vector
    """Z of each bin, (k,): above 0 it holds too many generated images."""
    divergence: float
    """JS, in nats."""
    divergence_error: float
    """Its standard error by the delta method, which vanishes where both sets fill the bins alike."""

    @property
    def different(self) -> int:
        """NDB: the number of bins that differ at the 5 % level, two-sided."""
        return int((np.abs(self.excess) > norm.isf(LEVEL / 2.0)).sum())

    @property
    def share(self) -> float:
        """NDB / K."""
        return self.different / len(self.excess)

    @property
    def deviation(self) -> float:
        """The standard deviation of NDB / K around 5 % if nothing is wrong, the bins taken as independent."""
        return float(np.sqrt(LEVEL * (1.0 - LEVEL) / len(self.excess)))

    @property
    def expected_divergence(self) -> float:
        """What JS is on average if nothing is wrong, to first order: (K - 1) (1/n + 1/m) / 8 for K filled bins."""
        filled = int(((self.generated + self.training) > 0).sum())
        return (filled - 1) * (1.0 / float(self.generated.sum()) + 1.0 / float(self.training.sum())) / 8.0

    @property
    def p_value(self) -> float:
        """Of the chi-squared test that both sets fill the bins alike; 1 where there is one bin."""
        counts = np.stack((self.generated, self.training)).astype(np.float64)
        counts = counts[:, counts.sum(axis=0) > 0.0]
        expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / counts.sum()
        statistic = float((np.square(counts - expected) / expected).sum())
        return float(chi2.sf(statistic, counts.shape[1] - 1)) if counts.shape[1] > 1 else 1.0


def bins_of(training: Features, bins: int = BINS, *, seed: int) -> Bins:
    """Draw bins around training features (m, d); raises :class:`Invalid` as :func:`partition_of` does."""
    partition = partition_of(training, bins, seed=seed)
    return Bins(partition, partition.counts(partition.cells_of(partition.project(training, "reference"))))


def binning(generated: Features, bins: Bins) -> Binning:
    """Count generated features (n, d) in the bins; raises :class:`Invalid` as :meth:`Partition.project` does."""
    cells = bins.partition.cells_of(bins.partition.project(generated))
    return compared(bins.partition.counts(cells), bins.training)


def compared(generated: Indices, training: Indices) -> Binning:
    """Compare numbers of images by bin, (k,) each. Raises :class:`Invalid`: ``bad-count``, ``too-few-images``."""
    if generated.shape != training.shape or generated.ndim != 1:
        raise Invalid("bad-count", f"There are {generated.shape} and {training.shape} bins to compare.")
    excess = excess_of(generated, training)
    divergence, variance = 0.0, 0.0
    q, p = generated / generated.sum(), training / training.sum()
    for own, count in ((q, int(generated.sum())), (p, int(training.sum()))):
        filled = own > 0.0
        shares, middle = own[filled], (p + q)[filled] / 2.0
        influence = np.log(shares / middle) / 2.0
        mean = float(shares @ influence)
        divergence += mean
        variance += float(shares @ np.square(influence - mean)) / count
    return Binning(generated, training, excess, max(0.0, divergence), float(np.sqrt(variance)))
