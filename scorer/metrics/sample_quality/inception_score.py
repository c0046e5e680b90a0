"""The Inception score: how certain a classifier is of single images, and how varied its answers are.

    IS = exp(mean over images of KL(p(y | x), p(y))),   p(y) the mean of p(y | x)            (Salimans et al. 2016)

Between 1 and the number of classes; larger is better. It uses no real image, so it can show neither copying nor
likeness; it is computed because papers report it.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import log_softmax

from scorer.errors import Invalid
from scorer.metrics.features import Features, require_finite, require_matrix

SPLITS = 10


@dataclass(frozen=True)
class InceptionScore:
    """The mean over the splits, and the standard deviation (over s - 1) of one split's value."""

    mean: float
    split_deviation: float | None
    """None for one split."""
    splits: int

    @property
    def standard_error(self) -> float | None:
        """Of ``mean``, the splits taken as independent; the bias that small splits score lower is not covered."""
        return None if self.split_deviation is None else self.split_deviation / float(np.sqrt(self.splits))


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
    values = np.array([_score(logits[order[start:stop]]) for start, stop in pairwise(edges)])
    deviation = float(values.std(ddof=1)) if splits > 1 else None
    return InceptionScore(float(values.mean()), deviation, splits)


def _score(logits: Features) -> float:
    logs = np.asarray(log_softmax(logits.astype(np.float64), axis=1))
    shares = np.exp(logs)
    together = shares.mean(axis=0)
    middle = np.log(np.where(together > 0.0, together, 1.0))  # a class of probability 0 adds nothing
    return float(np.exp((shares * (logs - middle)).sum(axis=1).mean()))
