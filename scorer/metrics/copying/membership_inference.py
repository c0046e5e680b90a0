"""Membership inference from the images of an entry: do they reveal which images the generator was trained on?

An attacker who has only the images takes an image for a training image if the nearest generated image is near
(GAN-Leaks, Chen et al. 2020). So the test compares the distances of training images and of held-out images to the
nearest generated image. If the generator reveals nothing about its training images, both have one distribution, given
the entry, even if its images look nothing like the reference. Then

    AUC = Pr(d_held_out > d_training) + Pr(d_held_out = d_training) / 2 = 1/2,

and 1 % of the training images are nearer than all but 1 % of the held-out images: the *true positive rate at 1 % false
positives* of Carlini et al. 2022. The AUC has the Mann-Whitney distribution, the second count the beta-binomial
distribution of :mod:`scorer.metrics.copying.partial_copying`. The chance is in the choice of the training images, which
is the same for all entries of a competition, so their p-values are not independent.
"""

from dataclasses import dataclass

from scorer.metrics.copying.partial_copying import PartialCopying, partial_copying
from scorer.metrics.features import Vector
from scorer.metrics.statistics.mann_whitney import MannWhitney, mann_whitney

FALSE_POSITIVES = 0.01


@dataclass(frozen=True)
class MembershipInference:
    """The ``ranks`` of the distances, with the training images as ``low``, and the count of the nearest ones."""

    ranks: MannWhitney
    nearest: PartialCopying

    @property
    def auc(self) -> float:
        """The probability that a training image is nearer to the entry than a held-out image; ties count half."""
        return self.ranks.share

    @property
    def auc_error(self) -> float:
        """The standard error of ``auc`` around 1/2 if the entry reveals nothing."""
        return self.ranks.deviation / (self.ranks.low * self.ranks.high)


def membership_inference(training: Vector, held_out: Vector) -> MembershipInference:
    """Compare the distances to the nearest generated image, of training images (m,) and of held-out images (n,).

    Raises the errors of :func:`partial_copying`.
    """
    return MembershipInference(
        mann_whitney(held_out, training), partial_copying(training, held_out, rare=FALSE_POSITIVES)
    )
