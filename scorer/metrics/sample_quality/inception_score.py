"""The Inception score: how certain a classifier is of single images, and how varied its answers are.

    IS = exp(mean over images of KL(p(y | x), p(y))),   p(y) the mean of p(y | x)            (Salimans et al. 2016)

Between 1 and the number of classes; larger is better. It uses no real images, so it can show neither copying nor
likeness; it is computed because papers report it. Its standard error comes from a jackknife that leaves every image out
of its split once.
"""

from itertools import pairwise

import numpy as np
import scipy

from scorer.metrics.features import Estimate, Features, require_finite, require_matrix

SPLITS = 10


def inception_score(logits: Features, *, random: np.random.Generator | None = None, splits: int = SPLITS) -> Estimate:
    """The score of logits (n, classes), float32 or float64: the mean over splits, in the order that ``random`` draws or
    in the given order. Its error does not cover the bias that small splits have lower scores.

    Raises :class:`Invalid`: ``bad-features``, ``too-few-images``, ``degenerate-features``.
    """
    require_matrix(logits, "generated", min_rows=splits)
    require_finite(logits, "generated")
    order = np.arange(len(logits)) if random is None else random.permutation(len(logits))
    edges = [split * len(logits) // splits for split in range(splits + 1)]
    values, variances = np.array([_score(logits[order[start:stop]]) for start, stop in pairwise(edges)]).T
    return Estimate(float(values.mean()), float(np.sqrt(variances.sum())) / splits)


def _score(logits: Features) -> tuple[float, float]:
    """The score of one split, and the jackknife estimate of its variance; the score of one image is always 1."""
    logs = np.asarray(scipy.special.log_softmax(logits.astype(np.float64), axis=1))
    shares = np.exp(logs)
    own = (shares * logs).sum(axis=1)
    count = len(own)
    # The mean divergence is the mean negative entropy of the images minus the negative entropy of their mean.
    value = float(np.exp(own.mean() - scipy.special.xlogy(mean := shares.mean(axis=0), mean).sum()))
    if count == 1:
        return value, 0.0
    others = np.maximum(shares.sum(axis=0) - shares, 0.0) / (count - 1)
    left_out = np.exp((own.sum() - own) / (count - 1) - scipy.special.xlogy(others, others).sum(axis=1))
    return value, float((count - 1) * left_out.var())
