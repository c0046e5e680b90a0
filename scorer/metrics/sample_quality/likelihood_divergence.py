"""FLD: how likely held-out images are under a mixture of Gaussians around generated images.

    p(x) = 1/n sum_j N(x; g_j, exp(l_j) I),   l fitted to the training images
    FLD  = 100 (NLL(held-out) - baseline),    NLL(X) = -mean log p(x) / d over X
    gap  = 100 (NLL(training) - NLL(held-out))                                  (Jiralerspong et al. 2023, section 3)

A generator that copies gets narrow Gaussians at training images. These become likely and held-out images do not, so its
gap is far below 0. The baseline is the NLL of the held-out images under the same number of training images, fitted to
as many other training images: what the best generator would have. With fewer training images, each takes half of them,
which makes the baseline a little too large. Features are first scaled to mean 0 and deviation 1 of the held-out images.
The deviation of a constant feature counts as 1.

The fit is that of the authors' code (marcojira/fld, ``MoG.py``): Adam at 0.5 for 50 steps on all training images,
starting at l_j = log((d_j^2 + 0.001) / d) with d_j the distance to the nearest training image; l stays within
[-40, 20]. During the fit, one more Gaussian at the training mean keeps distant images from dominating the sum. The
authors' code draws without a seed, and 10,000 images. Here at most 2,000 of each kind are drawn (twice as many training
images for the baseline), because the fit makes 50 passes over all pairs. The references are drawn with a seed of their
own and are the same for all entries.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from scorer.metrics.features import Features, Vector
from scorer.metrics.pairing import Pairing
from scorer.metrics.sample_quality.kernel_sums import squared_distances
from scorer.metrics.statistics.subsampling import equal_subsamples
from scorer.progress import ProgressCallback

MAX_IMAGES = 2000
_STEPS = 50
_RATE, _DECAY, _SQUARE_DECAY, _SMALL = 0.5, 0.9, 0.999, 1e-8  # of Adam
_LIMITS = (-40.0, 20.0)
_FLOOR = 1e-3
_BLOCK = 128  # rows at a time: 4 MB of densities fit into the processor's cache
_NEAR = 1e-9
"""A share of the largest squared distance: smaller distances may be rounding, which a narrow Gaussian would magnify."""
_REFERENCE_SEED = 0
_MEAN_SHARE = 0.9**2
"""The share of a squared distance to the training mean that counts for the Gaussian there."""


class LikelihoodDivergence(NamedTuple):
    """FLD with its gap. Standard errors are over the choice of the generated images, for the same other images. They
    come from leaving out one Gaussian at a time (the jackknife), with the variances unchanged."""

    fld: float
    fld_error: float
    gap: float
    gap_error: float
    images: int
    """The number of images of each kind that took part."""


@dataclass(frozen=True, eq=False)
class LikelihoodReference:
    """The reference images for FLD, ``count`` or twice as many of each kind, scaled with ``mean`` and ``deviation``,
    (d,), to mean 0 and deviation 1 of the held-out images."""

    mean: Vector
    deviation: Vector
    held_out: Vector
    """(count, d)"""
    training: Vector
    """(2 count, d), or all if there are fewer."""

    @property
    def count(self) -> int:
        """The number of images of each kind that take part."""
        return len(self.held_out)

    def standardised(self, features: Features) -> Vector:
        """Features (n, d) on the scale of the held-out images."""
        return np.asarray((features - self.mean) / self.deviation)

    def baseline(self, progress: ProgressCallback | None = None) -> float:
        """The NLL of the held-out images under training images; the same for all entries, so worth storing."""
        half = len(self.training) // 2
        centres, rows = self.training[:half], self.training[half:]
        widths = _fitted_widths(centres, rows, progress or (lambda _share: None))
        return _likelihood(self.held_out, centres, widths).loss


def likelihood_reference(training: Features, held_out: Features, count: int) -> LikelihoodReference:
    """Draw from training (m, d) and held-out features (h, d), float32 or float64; ``count`` is at most their size."""
    order = np.random.default_rng(_REFERENCE_SEED)
    drawn = held_out[order.permutation(len(held_out))[:count]].astype(np.float64)
    mean, deviation = drawn.mean(axis=0), drawn.std(axis=0, ddof=1)
    deviation[np.ptp(drawn, axis=0) == 0.0] = 1.0
    mixed = training[order.permutation(len(training))[: 2 * count]]
    return LikelihoodReference(mean, deviation, (drawn - mean) / deviation, (mixed - mean) / deviation)


def likelihood_divergence(
    generated: Features,
    training: Features,
    held_out: Features,
    *,
    random: np.random.Generator,
    max_images: int = MAX_IMAGES,
    baseline: Callable[[LikelihoodReference], float] = LikelihoodReference.baseline,
    progress: ProgressCallback | None = None,
) -> LikelihoodDivergence:
    """FLD of generated features (n, d), float32 or float64, with training (m, d) and held-out features (h, d).

    Draws the same number of each kind, at most ``max_images``, the generated ones with ``random``. ``baseline`` returns
    the baseline of the references, computed or stored. Holds about max_images^2 float64 numbers. ``progress`` is called
    with the finished share, rising to 1.0. Raises the errors of :func:`equal_subsamples`, ``too-few-images`` for fewer
    than four images.
    """
    report = progress or (lambda _share: None)
    sets = {"generated": generated, "reference": training, "held-out": held_out}
    drawn = equal_subsamples(sets, random, max_images, 4)[0]
    count = len(drawn)
    reference = likelihood_reference(training, held_out, count)
    own, real = reference.standardised(drawn), reference.training[:count]
    widths = _fitted_widths(own, real, lambda share: report(0.5 * share))
    of_training, of_held_out = (_likelihood(rows, own, widths) for rows in (real, reference.held_out))
    losses = of_held_out.loss - baseline(reference), of_training.loss - of_held_out.loss
    report(1.0)
    without = of_held_out.without, of_training.without - of_held_out.without
    errors = ((count - 1) / np.sqrt(count) * losses_without.std(ddof=1) for losses_without in without)
    (fld, gap), (fld_error, gap_error) = ([100.0 * float(value) for value in pair] for pair in (losses, errors))
    return LikelihoodDivergence(fld, fld_error, gap, gap_error, count)


def _fitted_widths(centres: Vector, rows: Vector, report: ProgressCallback) -> Vector:
    """The logarithms of the variances (n,) of Gaussians at ``centres`` (n, d), fitted to ``rows`` (m, d)."""
    to_mean = _MEAN_SHARE * np.square(rows - rows.mean(axis=0)).sum(axis=1)
    squares = np.column_stack([_squares(rows, centres), to_mean])
    count, dimension = rows.shape
    # The last Gaussian is at the mean of the rows and is not divided by their number.
    logarithms = np.append(np.log((squares[:, :-1].min(axis=0) + _FLOOR) / dimension), 0.0)
    weights = np.append(np.full(len(centres), -np.log(len(centres))), 0.0)
    first, second = np.zeros_like(logarithms), np.zeros_like(logarithms)
    for step in range(1, _STEPS + 1):
        shares, pulls = _shares_and_pulls(squares, logarithms, weights, dimension=dimension)
        gradient = (dimension * shares - pulls * np.exp(-logarithms)) / (2.0 * count * dimension)
        first = _DECAY * first + (1.0 - _DECAY) * gradient
        second = _SQUARE_DECAY * second + (1.0 - _SQUARE_DECAY) * gradient**2
        pace = np.sqrt(second / (1.0 - _SQUARE_DECAY**step)) + _SMALL
        logarithms = logarithms - _RATE * first / (1.0 - _DECAY**step) / pace
        logarithms[:-1] = logarithms[:-1].clip(*_LIMITS)
        report(step / _STEPS)
    return np.asarray(logarithms[:-1])


def _shares_and_pulls(squares: Vector, logarithms: Vector, weights: Vector, *, dimension: int) -> tuple[Vector, Vector]:
    """Over all rows, the sums of each Gaussian's share in the density, and of that share times the squared distance."""
    shares, pulls = np.zeros_like(logarithms), np.zeros_like(logarithms)
    for start in range(0, len(squares), _BLOCK):
        block = squares[start : start + _BLOCK]
        densities = _log_densities(block, logarithms, dimension)
        densities += weights
        densities -= densities.max(axis=1, keepdims=True)
        np.exp(densities, out=densities)
        per_row = 1.0 / densities.sum(axis=1)
        shares += per_row @ densities
        densities *= block
        pulls += per_row @ densities
    return shares, pulls


class _Likelihood(NamedTuple):
    loss: float
    """-mean log p / d over the rows."""
    without: Vector
    """How much the loss grows, up to a constant, without each of the Gaussians, (n,)."""


def _likelihood(rows: Vector, centres: Vector, logarithms: Vector) -> _Likelihood:
    densities = _log_densities(_squares(rows, centres), logarithms, rows.shape[1])
    sums = scipy.special.logsumexp(densities, axis=1)
    every, largest = np.arange(len(rows)), densities.argmax(axis=1)
    shares = np.exp(densities - sums[:, None])
    shares[every, largest] = 0.0  # 1 - share would lose its digits for a share near 1
    densities[every, largest] = -np.inf
    without = -np.log1p(-shares).sum(axis=0)
    np.add.at(without, largest, sums - scipy.special.logsumexp(densities, axis=1))
    scale = len(rows) * rows.shape[1]
    return _Likelihood(float(np.log(len(centres)) - sums.mean()) / rows.shape[1], without / scale)


def _squares(rows: Vector, centres: Vector) -> Vector:
    """All squared distances, (m, n). Those of nearly equal rows, such as copies, are exact."""
    squares = squared_distances(rows, centres)
    near = np.nonzero(squares < _NEAR * squares.max())
    if len(near[0]):
        squares[near] = Pairing(rows, centres).squares(*near)
    return squares


def _log_densities(squares: Vector, logarithms: Vector, dimension: int) -> Vector:
    """log N(x_i; g_j, exp(l_j) I) from squared distances (m, n)."""
    densities = squares * (-0.5 * np.exp(-logarithms))
    densities -= dimension / 2.0 * (logarithms + np.log(2.0 * np.pi))
    return np.asarray(densities)
