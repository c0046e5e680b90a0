"""Cosines from the products of a distance pass stay within their error bounds, and searches with them are exact."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.metrics import pairing as pairing_module
from scorer.metrics.cosine import normalise
from scorer.metrics.memorization import nearest
from scorer.metrics.paired_cosines import CosineShortlist, PairedCosines
from scorer.metrics.pairing import Pairing, go_through

Rows = NDArray[np.float32]


def around_zero(seed: int, count: int, dimension: int) -> Rows:
    return np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)


def pooled(seed: int, count: int, dimension: int) -> Rows:
    """Non-negative rows with a mean longer than their differences, as in pooled features."""
    return np.asarray(np.abs(around_zero(seed, count, dimension) * np.float32(0.3) + np.float32(1.0)))


def minute(seed: int, count: int, dimension: int) -> Rows:
    return np.float32(1e-25) * pooled(seed, count, dimension)


def some_short(seed: int, count: int, dimension: int) -> Rows:
    """Every seventh row is short compared with the mean of all."""
    rows = pooled(seed, count, dimension)
    rows[::7] *= np.float32(1e-4)
    return rows


def copies(seed: int, count: int, dimension: int) -> Rows:
    return pooled(99, 5, dimension)[np.random.default_rng(seed).integers(0, 5, count)]


KINDS = [around_zero, pooled, minute, some_short, copies]


def exact(own: Rows, other: Rows) -> NDArray[np.longdouble]:
    units = (rows.astype(np.longdouble) for rows in (own, other))
    left, right = (rows / np.sqrt(np.square(rows).sum(axis=1, keepdims=True)) for rows in units)
    return np.asarray(left @ right.T)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dimension", [3, 300])
def test_the_error_bounds_hold(kind: Any, dimension: int) -> None:
    own, other = kind(1, 40, dimension), kind(2, 60, dimension)
    pairing = Pairing(own, other)
    cosines = PairedCosines(pairing, normalise(own), normalise(other))
    (strip,) = pairing.strips()
    off = np.abs(cosines.of(strip) - exact(own, other)).max(axis=1)
    assert (off <= cosines.errors)[cosines.is_usable].all()
    if kind is not some_short:
        assert cosines.is_usable.all()
        assert cosines.errors.max() < 6e-8 * (dimension + 80) * 9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("pairs", [300, 4 << 20])
def test_a_shared_pass_finds_the_same_neighbours_as_a_search(
    kind: Any, signed: bool, pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairing_module, "_STRIP_PAIRS", pairs)
    own, other = (normalise(kind(seed, count, 24)) for seed, count in ((3, 50), (4, 700)))
    pairing = Pairing(own.features, other.features)
    shortlist = CosineShortlist(PairedCosines(pairing, own, other), signed=signed)
    go_through(pairing, [shortlist])
    shared, alone = nearest(own, other, signed=signed, shortlister=shortlist), nearest(own, other, signed=signed)
    np.testing.assert_array_equal(shared.distance, alone.distance)
    np.testing.assert_array_equal(shared.index, alone.index)
