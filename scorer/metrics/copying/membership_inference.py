"""Membership inference from the images of an entry: can it be told which images the generator was trained on?

Whoever has the images alone takes an image for a training image if the nearest generated one is near (GAN-Leaks, Chen
et al. 2020). So the distances of training images and of held-out images to the nearest generated image are
compared. If the generator says nothing of which images it was trained on, both have one law, given the entry, whether
its images look like photographs or not. Then

    AUC = Pr(d_held_out > d_training) + Pr(d_held_out = d_training) / 2 = 1/2,

and the share of the training images that are nearer than all but 1 % of the held-out images, the *true positive rate at
1 % false positives* of Carlini et al. 2022, is 1 %; the law of the first count is that of Mann and Whitney, that of the
second one the beta-binomial distribution of :mod:`scorer.metrics.copying.partial_copying`. Chance is that of which
images are training images, the same for all entries of a competition: their p-values are not independent.
"""

from dataclasses import dataclass

from scorer.metrics.copying.partial_copying import PartialCopying, partial_copying
from scorer.metrics.features import Vector
from scorer.metrics.statistics.mann_whitney import MannWhitney, mann_whitney

FALSE_POSITIVES = 0.01


@dataclass(frozen=True)
class MembershipInference:
    """``ranks`` of the distances, the training images being ``low``, and how many of them are nearest of all."""

    ranks: MannWhitney
    nearest: PartialCopying

    @property
    def auc(self) -> float:
        """The probability that a training image is nearer to the entry than a held-out image, ties half."""
        return self.ranks.share

    @property
    def auc_error(self) -> float:
        """The standard error of ``auc`` around 1/2 if nothing can be told."""
        return self.ranks.deviation / (self.ranks.low * self.ranks.high)


def membership_inference(training: Vector, held_out: Vector) -> MembershipInference:
    """Compare distances to the nearest generated image, of training images (m,) and of held-out images (n,).

    Raises :class:`Invalid` as :func:`partial_copying` does.
    """
    return MembershipInference(
        mann_whitney(held_out, training), partial_copying(training, held_out, rare=FALSE_POSITIVES)
    )
