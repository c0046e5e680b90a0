"""The shortlist of nearest neighbours (:mod:`scorer.metrics.cosine`), made on the device that computes the features.

The definition and the bound are those of the host: every pair with a float32 product within the bound of its row's
highest product. The pairs are then decided in float64 on the host, so the result is the same to the last bit.
"""

import numpy as np
import torch
from torch import Tensor

from scorer.extractors.devices import exact_arithmetic, translated_device_errors
from scorer.extractors.out_of_memory import OutOfMemorySuppressed
from scorer.metrics.cosine import (
    TILE_COLUMNS,
    TILE_ROWS,
    CosineComparison,
    Shortlist,
    Shortlister,
    host_shortlist,
)
from scorer.progress import ProgressCallback


def shortlister_on(device: torch.device, threads: int) -> Shortlister:
    """A shortlister on a device; the host makes the shortlist if the device has no room. ``DeviceLost`` if it fails."""

    def shortlist(comparison: CosineComparison, crowd: int, done: ProgressCallback) -> Shortlist:
        with translated_device_errors(), OutOfMemorySuppressed(), exact_arithmetic(threads):
            return _shortlist(device, comparison, crowd, done=done)
        return host_shortlist(comparison, crowd, done)

    return shortlist


def _shortlist(device: torch.device, comparison: CosineComparison, crowd: int, *, done: ProgressCallback) -> Shortlist:
    window = comparison.window(np.float32)
    count = len(comparison.generated)
    left = torch.from_numpy(comparison.generated.unit(0, count, np.float32)).to(device)
    best = torch.full((count,), -2.0, device=device)  # the highest so far; +inf for a crowded row
    pairs: list[tuple[Tensor, Tensor, Tensor]] = []
    for column in range(0, len(comparison.reference), TILE_COLUMNS):
        unit = comparison.reference.unit(column, column + TILE_COLUMNS, np.float32)
        right = torch.from_numpy(unit).to(device).T
        for row in range(0, count, TILE_ROWS):
            products = left[row : row + TILE_ROWS] @ right
            if not comparison.signed:
                products.abs_()
            rows, columns, scores = _contenders(products, best[row : row + TILE_ROWS], window, crowd=crowd)
            pairs.append((rows + row, columns + column, scores))
        done(min(column + TILE_COLUMNS, len(comparison.reference)) / len(comparison.reference))
    rows, columns, scores = (torch.cat(parts) for parts in zip(*pairs, strict=True))
    close = scores >= best[rows] - window
    crowded = best.isinf().nonzero()[:, 0]
    return rows[close].cpu().numpy(), columns[close].cpu().numpy(), crowded.cpu().numpy()


def _contenders(products: Tensor, best: Tensor, window: float, *, crowd: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, columns and products of a tile that are within the window of the row's best so far, which is updated."""
    torch.maximum(best, products.amax(dim=1), out=best)
    contending = products >= (best - window)[:, None]
    best[contending.sum(dim=1) > crowd] = torch.inf
    contending &= best.isfinite()[:, None]
    rows, columns = contending.nonzero(as_tuple=True)
    return rows, columns, products[rows, columns]
