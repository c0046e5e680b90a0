"""Cells of a feature space: a k-means partition made from the training images alone.

The features are projected onto the principal components of the training features, at most 64 of them. k-means on the
projected training features gives the centres; a cell is the set of points nearest to one centre (Meehan et al. 2020,
sections 3.2 and 7.4.4). Training and held-out images determine the number of cells, never an entry. It is the largest
number that leaves enough held-out images in every cell to compare with.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.cosine import Indices
from scorer.metrics.euclidean import neighbours
from scorer.metrics.features import Features, Vector, require_finite, require_matrix, require_same_dimension
from scorer.metrics.sample_quality.frechet import statistics_of
from scorer.progress import ProgressCallback

COMPONENTS = 64  # the paper's, for images
MIN_IMAGES_PER_CELL = 20  # of each kind; the paper's threshold, from which a cell's rank sum is nearly normal
MAX_CELLS = 50  # the paper's largest partition
_STARTS = 5  # of k-means; the result with the smallest inertia is used
_CHUNK = 1024  # rows widened to float64 at a time


@dataclass(frozen=True, eq=False)
class Partition:
    """A projection and the centres of its cells.

    ``mean`` (d,) and ``axes`` (d, p) float64, orthonormal; ``centres`` (k, p) float64.
    """

    mean: Vector
    axes: Vector
    centres: Vector

    def __post_init__(self) -> None:
        """Refuse parts with contradictory shapes (:class:`Invalid`, ``bad-partition``)."""
        shapes = self.mean.shape, self.axes.shape, self.centres.shape
        if self.axes.ndim != 2 or shapes[0] != self.axes.shape[:1] or shapes[2][1:] != self.axes.shape[1:]:
            raise Invalid("bad-partition", f"The shapes {shapes} of mean, axes and centres do not match.")

    def __len__(self) -> int:
        return len(self.centres)

    def project(self, features: Features, whose: str = "generated") -> NDArray[np.float32]:
        """Features (n, d) along the axes, (n, p).

        float32, because the last bits of float64 products of equal rows can depend on their position in the matrix, and
        copies must be at distance 0.
        """
        require_matrix(features, whose)
        require_finite(features, whose)
        require_same_dimension(features.shape[1], len(self.mean))
        blocks = (features[start : start + _CHUNK] for start in range(0, len(features), _CHUNK))
        return np.concatenate([((block - self.mean) @ self.axes).astype(np.float32) for block in blocks])

    def cells_of(self, projected: Features) -> Indices:
        """The cell of each projected row: the nearest centre, ties to the lowest index."""
        return np.asarray(neighbours(projected, self.centres).index[:, 0])

    def counts(self, cells: Indices) -> Indices:
        """The number of rows in each cell, (k,)."""
        return np.bincount(cells, minlength=len(self)).astype(np.int64)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to store, with their names."""
        return {"mean": self.mean, "axes": self.axes, "centres": self.centres}


def partition_from(arrays: Mapping[str, NDArray[Any]]) -> Partition:
    """The partition stored as :meth:`Partition.arrays`."""
    return Partition(arrays["mean"], arrays["axes"], arrays["centres"])


def partition_of(training: Features, cells: int, *, seed: int, components: int = COMPONENTS) -> Partition:
    """Cut the space of training features (m, d) into a given number of cells.

    Raises :class:`Invalid`: ``too-few-images``, and the errors of :func:`statistics_of`.
    """
    whole = _whole(training, components)
    projected = whole.project(training, "reference")
    if cells > (distinct := len(np.unique(projected, axis=0))):
        raise Invalid("too-few-images", f"{distinct} different training images are too few for {cells} cells.")
    return _cut(whole, projected, cells, seed=seed)


def fit_partition(
    training: Features,
    held_out: Features,
    *,
    seed: int,
    components: int = COMPONENTS,
    min_images: int = MIN_IMAGES_PER_CELL,
    max_cells: int = MAX_CELLS,
    progress: ProgressCallback | None = None,
) -> Partition:
    """Cut the space of training features (m, d) into as many cells as held-out features (n, d) can fill.

    Tries ``max_cells`` cells, or the largest possible number, then about a tenth fewer each time, until every cell has
    at least ``min_images`` held-out images. ``progress`` is called with a share that rises to 1.0. Runs k-means many
    times: fit a partition once for a reference and store it. Raises :class:`Invalid`: ``too-few-images`` for fewer than
    ``min_images`` held-out images, and the errors of :func:`partition_of`.
    """
    require_matrix(held_out, "held-out", min_rows=min_images)
    whole = _whole(training, components)
    projected, projected_held_out = whole.project(training, "reference"), whole.project(held_out, "held-out")
    max_count = min(max_cells, len(projected_held_out) // min_images, len(np.unique(projected, axis=0)))
    for cells in _descending_counts(max_count):
        if progress:
            progress(1.0 - cells / max_count)
        partition = _cut(whole, projected, cells, seed=seed)
        if partition.counts(partition.cells_of(projected_held_out)).min() >= min_images:
            if progress:
                progress(1.0)
            return partition
    raise AssertionError("one cell holds all held-out images")


def _descending_counts(max_count: int) -> Iterator[int]:
    """From ``max_count`` down to 1, in steps of a tenth, at least 1."""
    cells = max_count
    while cells >= 1:
        yield cells
        cells -= max(1, cells // 10)


def _whole(training: Features, components: int) -> Partition:
    """The projection, as a partition with one cell."""
    statistics = statistics_of(training)
    dimension = len(statistics.mean)
    count = min(components, dimension, statistics.count - 1)
    # numpy's eigh: scipy's eigh for a subset holds the interpreter's lock, for 20 s and more on busy cores. The worker
    # would send no heartbeat in that time and lose its job.
    axes = np.linalg.eigh(statistics.covariance)[1][:, ::-1][:, :count]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(count)]
    axes = np.ascontiguousarray(axes * np.where(largest < 0.0, -1.0, 1.0))  # both signs are eigenvectors: choose one
    return Partition(statistics.mean, axes, np.zeros((1, count)))


def _cut(whole: Partition, projected: NDArray[np.float32], cells: int, *, seed: int) -> Partition:
    from sklearn.cluster import KMeans  # noqa: PLC0415 - for fitting only; reading results needs no scikit-learn

    fitted = KMeans(cells, n_init=_STARTS, random_state=seed).fit(projected.astype(np.float64))
    return Partition(whole.mean, whole.axes, np.asarray(fitted.cluster_centers_, np.float64))
