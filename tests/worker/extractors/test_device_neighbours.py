"""Nearest neighbours with a shortlist from torch on a device (here a CPU): equal to the host's to the last bit."""

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from scorer.extractors import DeviceLost, ExtractorOptions, device_neighbours, load
from scorer.extractors.device_neighbours import shortlister_on
from scorer.metrics.cosine import TILE_COLUMNS, TILE_ROWS, CosineComparison, host_shortlist, normalise
from scorer.metrics.memorization import nearest
from tests.worker.extractors.host_gpu import OUT_OF_MEMORY

ON_CPU = shortlister_on(torch.device("cpu"), 1)
Matrix = NDArray[np.float32]


def gaussian(seed: int, count: int, dimension: int) -> Matrix:
    return np.random.default_rng(seed).standard_normal((count, dimension), np.float32)


def around_one_direction(seed: int, count: int, dimension: int) -> Matrix:
    """Rows closer together than float32 products resolve."""
    middle = np.abs(gaussian(99, 1, dimension)) + 0.5
    return np.asarray(middle + 1e-6 * gaussian(seed, count, dimension), np.float32)


def with_copies(seed: int, count: int, dimension: int) -> Matrix:
    """Every row three times. The lowest index wins these ties."""
    return np.tile(gaussian(seed, -(-count // 3), dimension), (3, 1))[:count]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("make", "own", "other", "dimension"),
    [
        (gaussian, 40, 300, 24),
        (lambda *shape: np.abs(gaussian(*shape)), 40, 300, 24),
        (gaussian, TILE_ROWS + 1, 50, 6),
        (gaussian, 5, TILE_COLUMNS + 1, 6),
        (with_copies, 60, 200, 16),
        (around_one_direction, 30, 500, 48),
    ],
    ids=["gaussian", "non-negative", "rows", "columns", "ties", "crowds"],
)
def test_neighbours_equal_the_hosts(make: Any, own: int, other: int, dimension: int, signed: bool) -> None:
    generated, reference = make(1, own, dimension), make(2, other, dimension)
    shares: list[float] = []
    expected = nearest(generated, reference, signed=signed, shortlister=ON_CPU, progress=shares.append)
    hosts = nearest(generated, reference, signed=signed)
    np.testing.assert_array_equal(expected.index, hosts.index)
    np.testing.assert_array_equal(expected.distance, hosts.distance)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_crowded_rows_are_left_to_float64() -> None:
    """Crowded rows are named, and none of their pairs is listed."""
    own, other = (normalise(around_one_direction(seed, 30, 48)) for seed in (1, 2))
    comparison = CosineComparison(own, other, signed=False)
    rows, _, crowded = ON_CPU(comparison, 4, lambda _: None)
    assert len(crowded) > 0
    assert set(rows).isdisjoint(crowded)
    hosts = host_shortlist(comparison, 4, lambda _: None)
    assert set(rows) | set(crowded) == set(hosts[0]) | set(hosts[2]) == set(range(30))


def test_differently_rounded_products_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With errors up to the bound, in the worst direction, the shortlist still has the nearest row. With more, it does
    not."""
    generated, reference = around_one_direction(3, 40, 48), around_one_direction(4, 60, 48)
    hosts = nearest(generated, reference)
    products = device_neighbours._contenders

    def off_by(bounds: float) -> Any:
        def contenders(tile: torch.Tensor, best: torch.Tensor, window: float, *, crowd: int) -> Any:
            # The nearest is too low, all others are too high.
            error = torch.full_like(tile, bounds * window / 2)
            error[torch.arange(len(tile)), torch.from_numpy(hosts.index)] *= -1
            return products(tile + error, best, window, crowd=len(reference))

        return contenders

    monkeypatch.setattr(device_neighbours, "_contenders", off_by(0.4))
    np.testing.assert_array_equal(nearest(generated, reference, shortlister=ON_CPU).index, hosts.index)
    monkeypatch.setattr(device_neighbours, "_contenders", off_by(40))
    assert (nearest(generated, reference, shortlister=ON_CPU).index != hosts.index).any()


def test_without_room_on_the_device_the_host_makes_the_shortlist(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError(OUT_OF_MEMORY)

    monkeypatch.setattr(device_neighbours, "_shortlist", full)
    generated, reference = gaussian(5, 20, 8), gaussian(6, 30, 8)
    expected = nearest(generated, reference, shortlister=ON_CPU)
    np.testing.assert_array_equal(expected.distance, nearest(generated, reference).distance)


def test_a_device_that_fails_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise torch.AcceleratorError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(device_neighbours, "_shortlist", fail)
    with pytest.raises(DeviceLost):
        nearest(gaussian(5, 20, 8), gaussian(6, 30, 8), shortlister=ON_CPU)


def test_on_a_cpu_the_host_makes_the_shortlist() -> None:
    assert load("tiny", options=ExtractorOptions()).shortlister is host_shortlist
