"""Relative distances: how near an image is to one training image, beside how near it is to others.

Carlini et al. 2023 divide the distance to the nearest training image by the mean of the distances to the 50 nearest,

    r = |g - t_1| / mean over k = 1 ... 50 of |g - t_k|

because a distance alone tells little: a smooth image is near to many. An altered copy stays nearer to its original than
to all others, though no nearer than some photographs are to theirs, so r of a mixture of honest images and altered
copies has a lower tail that r of held-out images lacks. The test of the mixture counts the images in the lowest 5 % of
the held-out ones (:mod:`scorer.metrics.copying.partial_copying` has the count, its expectation and its exact p-value):
more than the 1 % of the other tests, because altered copies lie among photographs. The part of copies in the mixture,
as far as r tells them, is (share - expected) / (1 - expected). The distance is the Euclidean one of the features;
mirrored training images take no part.
"""

import numpy as np

from scorer.metrics.copying.near_duplicates import Originals
from scorer.metrics.euclidean import Neighbours

NEIGHBOURS = 50
"""How many nearest ones are averaged; all training images where there are fewer."""
LOWER_TAIL = 0.05
"""The share of the held-out images that the test of the mixture counts beyond."""


def relative_originals(nearest: Neighbours) -> Originals:
    """The nearest training image of every image, with its relative distance in [0, 1], from the nearest ones (n, k).

    Where the k nearest all are at distance 0, r is 1, which says nothing.
    """
    distances = np.sqrt(nearest.squares)
    mean = distances.mean(axis=1)
    relative = np.divide(distances[:, 0], mean, out=np.ones(len(mean)), where=mean > 0.0)
    return Originals(relative, nearest.index[:, 0], np.zeros(len(mean), np.bool_))
