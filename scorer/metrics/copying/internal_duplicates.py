"""Near duplicates within one submission: images nearer to one another than held-out images are to training images.

Two images are alike if their distance is below a limit: all but 1 % of the held-out images are farther than the limit
from every training image. Alike images form groups (connected components). A generator that has collapsed makes few,
large groups.

If generated images were real, pairs would be alike at the rate of held-out and training images: r of n_h m such pairs
were below the limit. The entry has n (n - 1) / 2 pairs. If pairs are independent, the number of alike pairs among them
has the negative binomial distribution with r and n_h m / (n_h m + n (n - 1) / 2).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from scorer.metrics.copying.partial_copying import PartialCopying
from scorer.metrics.cosine import Indices, NormalisedFeatures
from scorer.metrics.paired_cosines import PairedCosines
from scorer.metrics.pairing import DistanceStrip, Pairing, places_of

MAX_GROUPS, MAX_GROUP_IMAGES = 6, 8


@dataclass(frozen=True, eq=False)
class InternalDuplicates:
    """Groups of alike images. ``group`` (n,) int64 numbers them from 0, in the order of their first images."""

    group: Indices
    dependents: Indices
    """For each image, how many others are like it and like no other image, (n,)."""
    pairs: int
    alike_pairs: int
    """The number r of held-out images within the limit, each counted as one alike pair."""
    compared_pairs: int
    """The number n_h m of pairs of held-out and training images."""

    @property
    def sizes(self) -> Indices:
        """The number of images in each group; 1 for an image unlike all others."""
        return np.bincount(self.group)

    @property
    def images(self) -> int:
        """The number of images that are like another image."""
        return int(self.sizes[self.sizes > 1].sum())

    @property
    def share(self) -> float:
        """The share in [0, 1] of the images that are like another image."""
        return self.images / len(self.group)

    @property
    def standard_error(self) -> float:
        """Standard error of ``share`` over the choice of images, from a jackknife. Removing an image also removes those
        that are like it alone."""
        lost = (self.sizes > 1)[self.group] + self.dependents
        return float(lost.std(ddof=1) / np.sqrt(len(lost))) if len(lost) > 1 else 0.0

    @property
    def groups(self) -> int:
        """The number of groups of at least two images."""
        return int((self.sizes > 1).sum())

    @property
    def expected_pairs(self) -> float:
        """The number of alike pairs expected of real images."""
        return self.alike_pairs * self._own_pairs / self.compared_pairs

    @property
    def p_value(self) -> float:
        """The probability that real images have at least this many alike pairs; approximate, see the module."""
        chance = self.compared_pairs / (self.compared_pairs + self._own_pairs)
        return float(scipy.stats.nbinom.sf(self.pairs - 1, self.alike_pairs, chance))

    @property
    def _own_pairs(self) -> float:
        return len(self.group) * (len(self.group) - 1) / 2.0

    def examples(self, groups: int = MAX_GROUPS, images: int = MAX_GROUP_IMAGES) -> tuple[tuple[int, ...], ...]:
        """The first images of the largest groups, largest first, ties to the group with the earlier first image."""
        largest = np.argsort(-self.sizes, kind="stable")[: min(groups, self.groups)]
        return tuple(tuple(np.flatnonzero(self.group == number)[:images].tolist()) for number in largest)


def grouped_share_error(sizes: Indices, counted: Indices) -> float:
    """The standard error of the share of counted images, with groups instead of images taken as independent.

    ``sizes`` (k,) are the groups' numbers of images, ``counted`` (k,) how many of these count.
    """
    count = sizes.sum()
    return float(np.sqrt(np.square(counted - sizes * (counted.sum() / count)).sum()) / count)


class AlikePairs:
    """Finds the alike images among all pairs of an entry's images, from their ``cosines`` and the cosine distance
    1 - cos. ``held_out`` has the limit, from the cosine distances of held-out images to ``training`` training images.
    With a limit of 0, nothing is alike."""

    def __init__(
        self, own: NormalisedFeatures, cosines: PairedCosines, held_out: PartialCopying, *, training: int
    ) -> None:
        self._own, self._cosines = own, cosines
        self._held_out = held_out
        self._compared = held_out.held_out * training
        count = len(own)
        # For unit rows, the squared Euclidean distance is twice the cosine distance.
        self._limits = np.full((1, count), 2.0 * held_out.limit)
        self._pairs = 0
        self._alike, self._last = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self._group = np.arange(count)

    @cached_property
    def _exact(self) -> Pairing:
        """The unit rows, with exact distances; made for the first pair that the cosines leave open."""
        return Pairing(self._own.unit(0, len(self._own), np.float32))

    def add(self, strip: DistanceStrip) -> None:
        rows, columns = places_of(self._is_alike(strip))
        rows += strip.rows.start
        self._pairs += int(np.count_nonzero(rows < columns))
        self._alike += np.bincount(rows, minlength=len(self._alike))
        self._last[rows] = columns
        self._group = _joined(self._group, rows, columns)

    def _is_alike(self, strip: DistanceStrip) -> NDArray[np.bool_]:
        cosines, rows = self._cosines.of(strip), strip.rows
        errors = self._cosines.errors[rows, None]
        own = np.arange(rows.stop - rows.start), np.arange(rows.start, rows.stop)
        inside = cosines > 1.0 - self._held_out.limit + errors
        is_open = cosines >= 1.0 - self._held_out.limit - errors
        is_open ^= inside
        inside[own] = is_open[own] = False
        few, many = places_of(is_open)
        if strip.is_crowded(len(few)) or not self._cosines.is_usable[rows].all():
            return self._exact.strip(rows).within(self._limits, strict=True)
        if len(few):
            inside[few, many] = self._exact.squares(few + rows.start, many) < self._limits[0, 0]
        return inside

    def result(self) -> InternalDuplicates:
        """The groups, after all pairs."""
        dependents = np.bincount(self._last[self._alike == 1], minlength=len(self._alike))
        test = self._held_out
        return InternalDuplicates(self._group, dependents, self._pairs, test.rank, self._compared)


def _joined(group: Indices, rows: Indices, columns: Indices) -> Indices:
    """The groups after joining some pairs, numbered in the order of their first images."""
    if not len(rows):
        return group
    size = len(group)
    links = scipy.sparse.coo_array((np.ones(len(rows), np.int8), (group[rows], group[columns])), shape=(size, size))
    joined = scipy.sparse.csgraph.connected_components(links, directed=False)[1][group]
    _, first, inverse = np.unique(joined, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(np.int64)
