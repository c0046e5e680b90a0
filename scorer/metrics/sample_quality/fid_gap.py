"""FID to training images against FID to held-out images.

Webster et al. 2019, section 3.4 (figure 5): generators that memorise have no smaller FID to their training images than
to others, so FID is no test of memorization. Both distances are taken to equally many images, because each is too large
by about c / n.
"""

from dataclasses import dataclass

import numpy as np

from scorer.metrics.features import Features
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.metrics.statistics.subsampling import equal_subsamples


@dataclass(frozen=True)
class FidGap:
    """Both distances, >= 0, to ``count`` images each."""

    train: float
    held_out: float
    count: int

    @property
    def gap(self) -> float | None:
        """(held_out - train) / held_out, signed as the gap of latent recovery; None where ``held_out`` is 0."""
        return (self.held_out - self.train) / self.held_out if self.held_out > 0.0 else None


def fid_gap(generated: Features, train: Features, held_out: Features, *, random: np.random.Generator) -> FidGap:
    """Compare generated features (n, d) with training (m, d) and held-out ones (k, d), float32 or float64.

    Of the larger real set ``random`` draws as many as the smaller one has. Raises :class:`Invalid`:
    ``bad-features``, ``too-few-images`` (2 are needed of each), ``degenerate-features``, ``dimension-mismatch``.
    """
    own = statistics_of(generated)
    training, held_out_sample = equal_subsamples({"training": train, "held-out": held_out}, random, min_images=2)
    return FidGap(
        frechet_distance(own, statistics_of(training)),
        frechet_distance(own, statistics_of(held_out_sample)),
        len(training),
    )
