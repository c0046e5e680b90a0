"""The Inception score: how certain a classifier is of single images, and how varied its answers are.

    IS = exp(mean over images of KL(p(y | x), p(y))),   p(y) the mean of p(y | x)            (Salimans et al. 2016)

Between 1 and the number of classes; larger is better. It uses no real image, so it can show neither copying nor
likeness; it is computed because papers report it. Its standard error is by the images' influences: to first order an
image moves the mean of the divergences by how far its own is from that mean, since p(y) minimises the mean.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import log_softmax

from scorer.errors import Invalid
from scorer.metrics.features import Features, Vector, require_finite, require_matrix

SPLITS = 10


@dataclass(frozen=True)
class InceptionScore:
    """The mean over the splits."""

    mean: float
    splits: int
    standard_error: float
    """Of ``mean``, over the choice of images; the bias that small splits score lower is not covered."""


def inception_score(
    logits: Features, *, random: np.random.Generator | None = None, splits: int = SPLITS
) -> InceptionScore:
    """The score of logits (n, classes), float32 or float64, in splits of the order that ``random`` gives, or as is.

    Raises :class:`Invalid`: ``bad-count``, ``bad-features``, ``too-few-images``, ``degenerate-features``.
    """
    if splits < 1:
        raise Invalid("bad-count", f"There must be at least 1 split, not {splits}.")
    require_matrix(logits, "generated", min_rows=splits)
    require_finite(logits, "generated")
    order = np.arange(len(logits)) if random is None else random.permutation(len(logits))
    edges = [split * len(logits) // splits for split in range(splits + 1)]
    divergences = [_divergences(logits[order[start:stop]]) for start, stop in pairwise(edges)]
    values = np.exp([split.mean() for split in divergences])
    errors = values * [split.std() / np.sqrt(len(split)) for split in divergences]
    return InceptionScore(float(values.mean()), splits, float(np.sqrt(errors @ errors)) / splits)


def _divergences(logits: Features) -> Vector:
    """KL(p(y | x), p(y)) of every image, (n,)."""
    logs = np.asarray(log_softmax(logits.astype(np.float64), axis=1))
    shares = np.exp(logs)
    together = shares.mean(axis=0)
    middle = np.log(np.where(together > 0.0, together, 1.0))  # a class of probability 0 adds nothing
    return np.asarray((shares * (logs - middle)).sum(axis=1))
