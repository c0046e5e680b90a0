"""Euclidean neighbours and limits: exact to the last bit of float64, in spite of the errors of the products."""

import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scorer.errors import Invalid
from scorer.metrics import pairing as pairing_module
from scorer.metrics.euclidean import NearestColumns, NearestRows, Neighbours, neighbours
from scorer.metrics.pairing import DistanceStrip, Pairing, _around, go_through
from tests.examples import examples
from tests.pure.oracles import squared_distances

Rows = NDArray[np.floating[Any]]


def spread_out(seed: int, count: int, dimension: int) -> Rows:
    return np.random.default_rng(seed).standard_normal((count, dimension))


def on_a_grid(seed: int, count: int, dimension: int) -> Rows:
    """Small whole numbers: distances are exact, and most of them tie."""
    return np.random.default_rng(seed).integers(0, 3, (count, dimension)).astype(np.float64)


def far_away(seed: int, count: int, dimension: int) -> Rows:
    return spread_out(seed, count, dimension) + 1e4


def collapsed(seed: int, count: int, dimension: int) -> Rows:
    """Copies of five points, with differences too small for float32 products."""
    return spread_out(99, 5, dimension)[np.arange(count) % 5] + 1e-5 * spread_out(seed, count, dimension)


def copied(seed: int, count: int, dimension: int) -> Rows:
    return spread_out(99, 5, dimension)[np.random.default_rng(seed).integers(0, 5, count)]


def minute(seed: int, count: int, dimension: int) -> Rows:
    return 1e-25 * spread_out(seed, count, dimension)


def uneven(seed: int, count: int, dimension: int) -> Rows:
    """Every seventh row is a billion times longer than the others."""
    rows = spread_out(seed, count, dimension)
    rows[::7] *= 1e9
    return rows


KINDS = [spread_out, on_a_grid, far_away, collapsed, copied, minute, uneven]


def by_definition(own: Rows, other: Rows | None, k: int) -> tuple[NDArray[np.longdouble], NDArray[np.intp]]:
    squares = squared_distances(own, own if other is None else other)
    if other is None:
        np.fill_diagonal(squares, np.inf)
    index = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(squares, index, axis=1), index


def assert_as_defined(result: Neighbours, own: Rows, other: Rows | None, k: int) -> None:
    squares, index = by_definition(own, other, k)
    np.testing.assert_allclose(result.squares, squares.astype(np.float64), rtol=1e-14, atol=0)
    np.testing.assert_array_equal(result.index, index)


# Neighbours


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("alone", [True, False])
def test_neighbours_match_the_definition(kind: Any, precision: type[np.floating[Any]], alone: bool) -> None:
    own = kind(0, 60, 24).astype(precision)
    other = None if alone else kind(1, 90, 24).astype(precision)
    assert_as_defined(neighbours(own, other, k=4), own, other, 4)


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(st.integers(5, 30), st.integers(4, 40), st.integers(1, 20)),
    k=st.integers(1, 4),
    kind=st.sampled_from([spread_out, on_a_grid]),
)
@settings(max_examples=examples(50), deadline=None)
def test_neighbours_of_any_size(seed: int, sizes: tuple[int, int, int], k: int, kind: Any) -> None:
    own, other = kind(seed, sizes[0], sizes[2]), kind(seed + 1, sizes[1], sizes[2])
    assert_as_defined(neighbours(own, other, k=k), own, other, k)
    assert_as_defined(neighbours(own, k=k), own, None, k)


def test_a_copy_is_at_zero_and_a_row_is_not_its_own_neighbour() -> None:
    rows = spread_out(2, 50, 8)
    assert neighbours(rows, rows.copy()).squares.max() == 0.0
    np.testing.assert_array_equal(neighbours(rows, rows).index[:, 0], np.arange(50))
    assert (neighbours(rows).index[:, 0] != np.arange(50)).all()
    assert neighbours(rows).squares.min() > 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_the_bits_do_not_depend_on_strips_or_on_the_method(monkeypatch: pytest.MonkeyPatch, kind: Any) -> None:
    """With seven rows per strip, with only pairwise decisions, and with float64 products only."""
    own, other = kind(3, 40, 16).astype(np.float32), kind(4, 50, 16).astype(np.float32)
    whole = neighbours(own, other, k=3)
    for name, value in (("_STRIP_ROWS", 7), ("_CROWD", 1 << 40), ("_CROWD", -100)):
        with monkeypatch.context() as patch:
            patch.setattr(pairing_module, name, value)
            result = neighbours(own, other, k=3)
        np.testing.assert_array_equal(result.squares, whole.squares)
        np.testing.assert_array_equal(result.index, whole.index)


def test_equal_rows_are_recognised_by_their_bytes() -> None:
    own, other = copied(5, 300, 8), copied(6, 200, 8)
    left, right = Pairing(own, other)._identities()
    assert len(np.unique(np.concatenate([left, right]))) == 5
    np.testing.assert_array_equal(left[:, None] == right[None, :], (own[:, None] == other[None, :]).all(axis=2))


# Bounds and limits


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("dimension", [1, 3, 300])
def test_the_bounds_hold(kind: Any, precision: type[np.floating[Any]], dimension: int) -> None:
    own, other = kind(7, 40, dimension).astype(np.float32), kind(8, 70, dimension).astype(np.float32)
    pairing = Pairing(own, other)
    lower, upper = pairing.bounds(slice(0, 40), pairing.products(slice(0, 40), precision))
    exact = squared_distances(own, other) * np.longdouble(pairing.scale) ** 2
    assert (lower <= exact).all()
    assert (upper >= exact).all()
    slack = float((upper - lower).max())
    assert slack <= 80 * (dimension + 10) * np.finfo(precision).eps * float(np.square(2.0) * dimension)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("alone", [True, False])
def test_within_matches_the_definition_even_on_ties(kind: Any, strict: bool, alone: bool) -> None:
    """The limits are squared distances of pairs, by row or by column."""
    own, other = kind(9, 50, 12), kind(10, 65, 12)
    other = own if alone else other
    squares = squared_distances(own, other).astype(np.float64)
    pairing = Pairing(own, None if alone else other)
    rows, columns = (part.ravel() for part in np.indices(squares.shape))
    exact = pairing.squares(rows, columns).reshape(squares.shape)
    np.testing.assert_allclose(exact, squares, rtol=1e-14, atol=0)
    if alone:
        np.fill_diagonal(exact, np.inf)
    for limits in (np.sort(exact, axis=1)[:, 4][:, None], np.sort(exact, axis=0)[4][None, :]):
        expected = exact < limits if strict else exact <= limits
        strips = list(pairing.strips())
        assert [strip.rows for strip in strips] == [slice(0, 50)]
        np.testing.assert_array_equal(strips[0].within(limits, strict=strict), expected)


def test_only_copies_are_within_a_ball_of_radius_zero() -> None:
    own = copied(11, 30, 6)
    (strip,) = Pairing(own, own.copy()).strips()
    same = (own[:, None] == own[None, :]).all(axis=2)
    np.testing.assert_array_equal(strip.within(np.zeros((1, 30)), strict=False), same)
    assert not strip.within(np.zeros((1, 30)), strict=True).any()


# Storing and refusals


def test_a_mapped_reference_gives_the_same_bits_and_is_not_changed(tmp_path: Any) -> None:
    own, other = spread_out(12, 30, 6).astype(np.float32), spread_out(13, 40, 6).astype(np.float32)
    np.save(tmp_path / "features.npy", other)
    result = neighbours(own, np.load(tmp_path / "features.npy", mmap_mode="r"))
    expected = neighbours(own, other)
    np.testing.assert_array_equal(result.squares, expected.squares)
    np.testing.assert_array_equal(result.index, expected.index)
    np.testing.assert_array_equal(np.load(tmp_path / "features.npy"), other)
    assert (result.squares.dtype, result.index.dtype) == (np.dtype(np.float64), np.dtype(np.int64))


def test_progress_rises_to_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing_module, "_STRIP_ROWS", 10)
    shares: list[float] = []
    neighbours(spread_out(14, 45, 3), progress=shares.append)
    assert shares == pytest.approx([10 / 45, 20 / 45, 30 / 45, 40 / 45, 1.0])


@pytest.mark.parametrize(
    ("own", "other", "k", "slug"),
    [
        (np.ones((3, 4)), np.ones((3, 5)), 1, "dimension-mismatch"),
        (np.ones(4), np.ones((3, 4)), 1, "bad-features"),
        (np.ones((3, 4)), np.ones((3, 4), int), 1, "bad-features"),
        (np.ones((0, 4)), np.ones((3, 4)), 1, "too-few-images"),
        (np.full((3, 4), np.nan), np.ones((3, 4)), 1, "degenerate-features"),
        (np.ones((3, 4)), np.full((3, 4), np.inf), 1, "degenerate-features"),
        (np.ones((3, 4)), np.ones((3, 4)), 4, "too-few-images"),
        (np.ones((3, 4)), None, 3, "too-few-images"),
    ],
)
def test_invalid_features_are_refused(own: NDArray[Any], other: NDArray[Any] | None, k: int, slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        neighbours(own, other, k=k)
    assert refused.value.slug == slug


@pytest.mark.parametrize("kind", [spread_out, collapsed])
def test_the_whole_matrix_is_never_in_memory(kind: Any) -> None:
    own, other = kind(15, 10_000, 4).astype(np.float32), kind(16, 20_000, 4).astype(np.float32)
    tracemalloc.start()
    neighbours(own[:3000] if kind is collapsed else own, other)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 10_000 * 20_000 / 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pairs", [60, 4 << 20])
@pytest.mark.parametrize("threads", [1, 3])
def test_one_pass_finds_the_neighbours_of_both_sets(
    kind: Any, pairs: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairing_module, "_STRIP_PAIRS", pairs)
    monkeypatch.setattr(pairing_module, "product_threads", lambda: threads)
    for precision in (np.float64, np.float32):
        own, other = kind(1, 41, 5).astype(precision), kind(2, 30, 5).astype(precision)
        rows, columns = NearestRows(41, 4), NearestColumns(30)
        go_through(Pairing(own, other), [rows, columns])
        alone, back = neighbours(own, other, k=4), neighbours(other, own)
        np.testing.assert_array_equal(rows.result.squares, alone.squares)
        np.testing.assert_array_equal(rows.result.index, alone.index)
        np.testing.assert_array_equal(columns.squares, back.squares[:, 0])
        np.testing.assert_array_equal(columns.index, back.index[:, 0])


class Seen:
    """A consumer that records the rows of its strips, and waits until another consumer has the same strip."""

    def __init__(self, together: threading.Barrier) -> None:
        self.rows: list[slice] = []
        self.together = together

    def add(self, strip: DistanceStrip) -> None:
        self.rows.append(strip.rows)
        self.together.wait(timeout=60)


def test_consumers_share_each_strip_and_get_all_strips_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing_module, "_STRIP_PAIRS", 90)
    monkeypatch.setattr(pairing_module, "product_threads", lambda: 2)
    together = threading.Barrier(2)
    consumers = [Seen(together), Seen(together)]
    go_through(Pairing(spread_out(1, 41, 5), spread_out(2, 30, 5)), consumers)
    rows = [slice(start, min(start + 3, 41)) for start in range(0, 41, 3)]
    assert [consumer.rows for consumer in consumers] == [rows, rows]


def test_an_error_of_a_consumer_ends_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairing_module, "_STRIP_PAIRS", 90)
    monkeypatch.setattr(pairing_module, "product_threads", lambda: 2)
    broken = Seen(threading.Barrier(2))
    broken.together.abort()
    with pytest.raises(threading.BrokenBarrierError):
        go_through(Pairing(spread_out(1, 41, 5), spread_out(2, 30, 5)), [NearestRows(41, 1), broken])
    assert broken.rows == [slice(0, 3)]


@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_limits_are_rounded_outwards(precision: Any) -> None:
    values = np.array([0.0, 1.0, 0.1, np.nextafter(1.0, 2.0), np.pi * 1e30, 1e-46, 3e38, 1e300, np.inf])
    least, most = _around(values, precision)
    assert least.dtype == most.dtype == precision
    assert (least <= values).all()
    assert (values <= most).all()
    with np.errstate(over="ignore"):
        assert (most <= np.nextafter(least, precision(np.inf))).all(), "no representable number is between them"
        exact = values.astype(precision) == values
    np.testing.assert_array_equal(least[exact], most[exact])


@pytest.mark.parametrize("kind", [spread_out, on_a_grid, copied])
@pytest.mark.parametrize("pairs", [60, 4 << 20])
def test_ranks_decide_ties_and_exclude_rows(kind: Any, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is that of a search among the included rows, in the order of their ranks."""
    monkeypatch.setattr(pairing_module, "_STRIP_PAIRS", pairs)
    own, other = kind(1, 41, 3).astype(np.float32), kind(2, 30, 3).astype(np.float32)
    random = np.random.default_rng(3)
    own_ranks, other_ranks = random.permutation(41) - 15, random.permutation(30) - 9
    own_order, other_order = (np.argsort(ranks)[(ranks < 0).sum() :] for ranks in (own_ranks, other_ranks))
    rows, columns, apart = NearestRows(41, 2, other_ranks), NearestColumns(30, own_ranks), NearestRows(41, 1, own_ranks)
    go_through(Pairing(own, other), [rows, columns])
    go_through(Pairing(own), [apart])
    expected = neighbours(own, other[other_order], k=2)
    np.testing.assert_array_equal(rows.result.index, other_order[expected.index])
    np.testing.assert_array_equal(rows.result.squares, expected.squares)
    expected = neighbours(other, own[own_order])
    np.testing.assert_array_equal(columns.index, own_order[expected.index[:, 0]])
    np.testing.assert_array_equal(columns.squares, expected.squares[:, 0])
    expected = neighbours(own[own_order])
    np.testing.assert_array_equal(apart.result.index[own_order, 0], own_order[expected.index[:, 0]])


def test_columns_are_exact_if_all_rows_of_a_strip_are_candidates() -> None:
    """Float32 bounds leave too many pairs undecided."""
    own, other = collapsed(1, 300, 64).astype(np.float32), collapsed(2, 90, 64).astype(np.float32)
    columns = NearestColumns(90)
    go_through(Pairing(own, other), [columns])
    np.testing.assert_array_equal(columns.squares, neighbours(other, own).squares[:, 0])
