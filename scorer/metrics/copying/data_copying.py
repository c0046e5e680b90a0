"""The data-copying test (Meehan et al. 2020): are generated images closer to training images than held-out images are?

    L(x) = distance to the nearest training image, Euclidean, in the partition's projection

    Z_U  = the rank sum of L over generated and held-out images, in standard deviations

    C_T  = sum of P Z_U(cell) / sum of P,   P the share of the held-out images in the cell
    SE(C_T) = sqrt(sum of P^2) / sum of P  over the used cells

(Section 3.) Far below 0 is copying, far above 0 is underfitting. A cell is used if it has at least 20 generated and 20
held-out images. The paper gives no distribution of C_T. The standard error treats every Z_U(cell) as an independent
standard normal, which holds if nothing is copied; it is approximate.

``scope``: "global" searches for the nearest training image everywhere, as the paper's formulas say; "authors" searches
in the image's own cell, as the authors' code does. That code also adds 1/2 to U and takes the variance without ties.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics.copying.cells import MIN_IMAGES_PER_CELL, Partition, fit_partition, partition_from
from scorer.metrics.copying.ndb import excess_of, ndb_of
from scorer.metrics.cosine import Indices
from scorer.metrics.euclidean import neighbours
from scorer.metrics.features import Features, Vector
from scorer.metrics.statistics.mann_whitney import MannWhitney, mann_whitney
from scorer.progress import ProgressCallback

Scope = Literal["global", "authors"]


@dataclass(frozen=True, eq=False)
class CopyingReference:
    """The prepared reference of the test: the partition, and the projected training and held-out images."""

    partition: Partition
    training: NDArray[np.float32]
    held_out: NDArray[np.float32]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays to store, with their names, as arguments of ``numpy.savez``."""
        return {**self.partition.arrays(), "training": self.training, "held_out": self.held_out}


@dataclass(frozen=True, eq=False)
class PlacedImages:
    """The cell, the nearest training image and its distance for each image, (n,)."""

    cell: Indices
    index: Indices
    distance: Vector


@dataclass(frozen=True)
class CellCopying:
    """One cell: its numbers of images, its rank sum if it is used, and its excess for NDB-over and NDB-under."""

    cell: int
    generated: int
    held_out: int
    share_of_held_out: float
    rank_sum: MannWhitney | None
    """None for a cell with too few images of either kind."""
    excess: float
    """Z of the number of generated images compared with held-out images; above 0 there are too many."""


@dataclass(frozen=True, eq=False)
class DataCopying:
    """The test's result for one entry. ``overall`` is over all images, ``cells`` has each cell."""

    scope: Scope
    overall: MannWhitney
    cells: tuple[CellCopying, ...]
    ndb_over: int
    ndb_under: int
    placed: PlacedImages

    @property
    def used(self) -> tuple[CellCopying, ...]:
        """The cells that C_T averages."""
        return tuple(cell for cell in self.cells if cell.rank_sum is not None)

    @property
    def c_t(self) -> float | None:
        """C_T; None if no cell has enough images."""
        weights = self._weights()
        scores = np.array([cell.rank_sum.z for cell in self.cells if cell.rank_sum is not None])
        return float(weights @ scores / weights.sum()) if len(weights) else None

    @property
    def c_t_error(self) -> float | None:
        """The approximate standard error of C_T if nothing is copied; None if no cell has enough images."""
        weights = self._weights()
        return float(np.sqrt(np.square(weights).sum()) / weights.sum()) if len(weights) else None

    @property
    def c_t_p_copying(self) -> float | None:
        """The approximate one-sided p-value of C_T; None if no cell has enough images."""
        value, error = self.c_t, self.c_t_error
        return None if value is None or error is None else float(scipy.stats.norm.cdf(value / error))

    def _weights(self) -> Vector:
        return np.array([cell.share_of_held_out for cell in self.used])


def copying_reference(
    training: Features, held_out: Features, *, seed: int, progress: ProgressCallback | None = None
) -> CopyingReference:
    """Prepare training (m, d) and held-out features (n, d), float32 or float64, n >= 20; see :func:`fit_partition`."""
    return copying_reference_in(fit_partition(training, held_out, seed=seed, progress=progress), training, held_out)


def copying_reference_in(partition: Partition, training: Features, held_out: Features) -> CopyingReference:
    """:func:`copying_reference` with an existing partition."""
    return CopyingReference(
        partition, partition.project(training, "reference"), partition.project(held_out, "held-out")
    )


def copying_reference_from(arrays: Mapping[str, NDArray[Any]]) -> CopyingReference:
    """The reference stored as :meth:`CopyingReference.arrays`."""
    return CopyingReference(partition_from(arrays), arrays["training"], arrays["held_out"])


def data_copying(
    generated: Features,
    reference: CopyingReference,
    *,
    scope: Scope = "global",
    min_images: int = MIN_IMAGES_PER_CELL,
    progress: ProgressCallback | None = None,
) -> DataCopying:
    """Test generated features (m, d), float32 or float64, against a prepared reference.

    ``progress`` is called with the finished share, rising to 1.0. Raises :class:`Invalid`: the errors of
    :meth:`Partition.project`, and ``empty-cell`` if ``scope`` is "authors" and a cell with images has no training
    image.
    """
    projected = reference.partition.project(generated)
    own_share = len(projected) / (len(projected) + len(reference.held_out))
    own = _placed(projected, reference, scope, report=lambda share: progress(share * own_share) if progress else None)
    held_out = _placed(reference.held_out, reference, scope, report=lambda _share: None)
    if progress:
        progress(1.0)
    counts = reference.partition.counts(own.cell), reference.partition.counts(held_out.cell)
    excess = excess_of(*counts)
    cells = tuple(
        _cell(number, own, held_out, excess=float(excess[number]), min_images=min_images)
        for number in range(len(excess))
    )
    return DataCopying(scope, mann_whitney(own.distance, held_out.distance), cells, *ndb_of(excess), own)


def copied_cells(test: DataCopying, level: float = 0.01) -> tuple[CellCopying, ...]:
    """The cells with images too close to the training images, lowest Z first.

    If nothing is copied, the probability of naming any cell is at most ``level``: the level of one cell is divided by
    the number of cells tested (Bonferroni).
    """
    tested = [(cell.rank_sum.z, cell) for cell in test.used if cell.rank_sum is not None]
    limit = float(scipy.stats.norm.ppf(level / max(1, len(tested))))
    return tuple(cell for z, cell in sorted(tested, key=lambda pair: pair[0]) if z < limit)


def p_any_copied(test: DataCopying) -> float | None:
    """The p-value of the closest cell, times the number of cells tested (Bonferroni); None if no cell is tested."""
    scores = [cell.rank_sum.z for cell in test.used if cell.rank_sum is not None]
    return min(1.0, float(scipy.stats.norm.cdf(min(scores))) * len(scores)) if scores else None


def _placed(
    projected: NDArray[np.float32], reference: CopyingReference, scope: Scope, *, report: ProgressCallback
) -> PlacedImages:
    cell = reference.partition.cells_of(projected)
    if scope == "global":
        nearest = neighbours(projected, reference.training, progress=report)
        return PlacedImages(cell, nearest.index[:, 0], np.sqrt(nearest.squares[:, 0]))
    index = np.empty(len(projected), np.int64)
    distance = np.empty(len(projected))
    training_cell = reference.partition.cells_of(reference.training)
    for number in np.unique(cell):
        rows, candidates = np.flatnonzero(cell == number), np.flatnonzero(training_cell == number)
        if not len(candidates):
            raise Invalid("empty-cell", f"Cell {number} has no training image to compare with.")
        nearest = neighbours(projected[rows], reference.training[candidates])
        index[rows] = candidates[nearest.index[:, 0]]
        distance[rows] = np.sqrt(nearest.squares[:, 0])
        report(float((cell <= number).mean()))
    return PlacedImages(cell, index, distance)


def _cell(number: int, own: PlacedImages, held_out: PlacedImages, *, excess: float, min_images: int) -> CellCopying:
    close, expected = own.distance[own.cell == number], held_out.distance[held_out.cell == number]
    used = min(len(close), len(expected)) >= max(1, min_images)
    score = mann_whitney(close, expected) if used else None
    return CellCopying(number, len(close), len(expected), len(expected) / len(held_out.cell), score, excess)
