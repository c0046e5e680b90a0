"""The data-copying test compared with values of the authors' code, known situations, and lemma 3 of Meehan et al.
2020."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from scipy.stats import norm

from scorer.errors import Invalid
from scorer.metrics.copying.cells import Partition
from scorer.metrics.copying.data_copying import (
    CopyingReference,
    DataCopying,
    copied_cells,
    copying_reference,
    copying_reference_from,
    copying_reference_in,
    data_copying,
)
from scorer.metrics.statistics.mann_whitney import MannWhitney
from tests.examples import examples
from tests.pure.oracles import Matrix, golden, squared_distances

Rows = NDArray[np.floating[Any]]


def cut_at(column: int, places: list[float], dimension: int = 32) -> Partition:
    """A partition without a projection. The cells depend on one coordinate and have their centres at ``places``."""
    centres = np.zeros((len(places), dimension))
    centres[:, column] = places
    return Partition(np.zeros(dimension), np.eye(dimension), centres)


def golden_reference(column: int, places: list[float]) -> CopyingReference:
    return copying_reference_in(cut_at(column, places), golden().training, golden().held_out)


def shifted(rank_sum: MannWhitney) -> float:
    """Z with 1/2 added to U, as in the authors' code."""
    return rank_sum.z + 0.5 / rank_sum.deviation


def points(seed: int, count: int, spread: float = 1.0) -> Matrix:
    """Three groups in a plane."""
    random = np.random.default_rng(seed)
    return np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]])[np.arange(count) % 3] + spread * random.standard_normal(
        (count, 2)
    )


@pytest.fixture(scope="module")
def reference() -> CopyingReference:
    prepared = copying_reference(points(1, 600), points(2, 150), seed=0)
    assert len(prepared.partition) >= 3
    return prepared


# The values


def test_the_golden_value_over_all_images() -> None:
    copying = data_copying(golden().generated, golden_reference(0, [0.0]))
    assert shifted(copying.overall) == pytest.approx(2.66153205, abs=5e-9)
    assert copying.c_t == pytest.approx(copying.overall.z, rel=1e-12)  # one cell
    assert copying.c_t_error == 1.0


def test_the_golden_value_of_c_t_in_the_authors_mode() -> None:
    copying = data_copying(golden().generated, golden_reference(0, [0.2, 1.2]), scope="authors")
    scores = [shifted(cell.rank_sum) for cell in copying.cells if cell.rank_sum]
    weights = [cell.share_of_held_out for cell in copying.cells]
    assert scores == pytest.approx([1.437348, 1.54209864], abs=5e-7)
    assert np.average(scores, weights=weights) == pytest.approx(1.4880473100276383, rel=1e-13)
    plain = np.average([cell.rank_sum.z for cell in copying.cells if cell.rank_sum], weights=weights)
    assert copying.c_t == pytest.approx(plain, rel=1e-13)


def test_the_scope_matters_on_these_values() -> None:
    reference = golden_reference(0, [0.2, 1.2])
    own, everywhere = (data_copying(golden().generated, reference, scope=scope).c_t for scope in ("authors", "global"))
    assert own is not None
    assert everywhere is not None
    assert abs(own - everywhere) > 0.3


def test_the_golden_values_of_representation() -> None:
    copying = data_copying(golden().generated, golden_reference(1, [0.125 + 0.25 * number for number in range(8)]))
    expected = [-0.404828, 0.447828, 0.649265, -1.273277, 0.399026, 0.656218, -0.798935, 0.256410]
    assert [cell.excess for cell in copying.cells] == pytest.approx(expected, abs=5e-7)
    assert (copying.ndb_over, copying.ndb_under) == (0, 0)


def test_every_image_has_its_nearest_training_image(reference: CopyingReference) -> None:
    copying = data_copying(points(3, 200), reference)
    squares = squared_distances(reference.partition.project(points(3, 200)), reference.training)
    np.testing.assert_array_equal(copying.placed.index, squares.argmin(axis=1))
    np.testing.assert_allclose(copying.placed.distance**2, squares.min(axis=1).astype(float), rtol=1e-12)


def test_the_scope_of_the_authors_stays_within_the_cell(reference: CopyingReference) -> None:
    own = points(4, 200, spread=12.0)
    within = data_copying(own, reference, scope="authors")
    everywhere = data_copying(own, reference)
    cells = reference.partition.cells_of(reference.training)
    np.testing.assert_array_equal(cells[within.placed.index], within.placed.cell)
    assert (within.placed.distance >= everywhere.placed.distance).all()
    assert (within.placed.distance > everywhere.placed.distance).any()


# Situations


def test_an_honest_entry_is_near_zero(reference: CopyingReference) -> None:
    results = [data_copying(points(seed, 300), reference) for seed in range(100, 140)]
    scores = np.array([result.c_t for result in results])
    assert abs(scores.mean()) < 1.0  # all are compared with the same few held-out images
    assert sum(len(copied_cells(result)) > 0 for result in results) <= 2


@pytest.mark.parametrize("scope", ["global", "authors"])
def test_copies_are_far_below_zero(reference: CopyingReference, scope: Any) -> None:
    exact = points(1, 600)[::2]
    for own in (exact, exact + 0.01 * np.random.default_rng(5).standard_normal((300, 2))):
        copying = data_copying(own, reference, scope=scope)
        assert copying.c_t is not None
        assert copying.c_t_error is not None
        assert copying.c_t_p_copying is not None
        assert copying.c_t < -8 * copying.c_t_error
        assert copying.overall.z < -10
        assert copying.c_t_p_copying < 1e-6
        assert len(copied_cells(copying)) == len(copying.used)


def test_copies_of_one_region_are_found_if_the_others_hide_them(reference: CopyingReference) -> None:
    """One group is copied and the others are avoided, so the test over all images shows nothing."""
    own = points(6, 600, spread=1.8)
    training = points(1, 600)
    own[::3] = training[::3]
    copying = data_copying(own, reference)
    assert copying.overall.z > -2
    copied = copied_cells(copying)
    middle = reference.partition.cells_of(reference.partition.project(training[::3]))
    assert {cell.cell for cell in copied} == set(middle)
    scores = [cell.rank_sum.z for cell in copied if cell.rank_sum]
    assert scores == sorted(scores)


def test_dropped_and_favoured_regions_are_counted(reference: CopyingReference) -> None:
    own = points(7, 900)[np.arange(900) % 3 != 1]
    copying = data_copying(own, reference)
    empty = [cell for cell in copying.cells if cell.generated == 0]
    assert empty
    assert all(cell.rank_sum is None and cell.excess < -2 for cell in empty)
    assert copying.ndb_under >= len(empty)
    assert copying.ndb_over >= 1
    assert {cell.cell for cell in copying.used}.isdisjoint(cell.cell for cell in empty)


def test_weights_and_error_come_from_the_used_cells(reference: CopyingReference) -> None:
    copying = data_copying(points(7, 900)[np.arange(900) % 3 != 1], reference)
    shares = np.array([cell.held_out for cell in copying.used]) / 150
    scores = np.array([cell.rank_sum.z for cell in copying.used if cell.rank_sum])
    assert copying.c_t == pytest.approx((shares * scores).sum() / shares.sum(), rel=1e-12)
    assert copying.c_t_error == pytest.approx(np.sqrt((shares**2).sum()) / shares.sum(), rel=1e-12)
    assert copying.c_t_p_copying == pytest.approx(norm.cdf(float(copying.c_t or 0) / float(copying.c_t_error or 1)))
    assert sum(cell.generated for cell in copying.cells) == 600


@pytest.mark.parametrize(("own", "used"), [(20, True), (19, False)])
def test_a_cell_counts_from_twenty_images_of_either_kind(own: int, used: bool) -> None:
    reference = copying_reference_in(cut_at(0, [0.0], 2), points(1, 50), points(2, 20))
    copying = data_copying(points(3, own), reference)
    assert bool(copying.used) is used
    assert (copying.c_t is not None, copying.c_t_error is not None, copying.c_t_p_copying is not None) == (used,) * 3
    assert data_copying(points(3, own), reference, min_images=21).used == ()


def test_the_error_matches_the_spread_of_honest_entries() -> None:
    """Each run has new held-out images, as the hypothesis requires."""
    training = points(1, 600)
    scores = []
    errors = []
    partition = copying_reference(training, points(2, 150), seed=0).partition
    for seed in range(120):
        copying = data_copying(
            points(5000 + seed, 300), copying_reference_in(partition, training, points(9000 + seed, 150))
        )
        if copying.c_t is not None and copying.c_t_error is not None:
            scores.append(copying.c_t)
            errors.append(copying.c_t_error)
    assert len(scores) > 110
    assert abs(np.mean(scores)) < 4 * np.std(scores) / np.sqrt(len(scores))
    assert np.std(scores) == pytest.approx(np.mean(errors), rel=0.25)


# Storing, progress and refusals


def test_a_reference_can_be_stored_in_a_file(reference: CopyingReference) -> None:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **reference.arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        loaded = copying_reference_from(stored)
    own = points(8, 100)
    one, other = data_copying(own, reference), data_copying(own, loaded)
    assert (one.cells, one.overall) == (other.cells, other.overall)


def compute_with_shares(own: Matrix, reference: CopyingReference, scope: Any) -> tuple[list[float], DataCopying]:
    shares: list[float] = []
    return shares, data_copying(own, reference, scope=scope, progress=shares.append)


@pytest.mark.parametrize("scope", ["global", "authors"])
def test_progress_rises_to_one(reference: CopyingReference, scope: Any) -> None:
    shares, _ = compute_with_shares(points(9, 3000), reference, scope)
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < shares[-1] == 1.0


def test_a_cell_without_training_images_has_no_neighbours() -> None:
    reference = copying_reference_in(cut_at(0, [0.0, 1000.0], 2), points(1, 60), points(2, 30))
    far = points(3, 30) + np.array([1000.0, 0.0])
    assert data_copying(far, reference).overall.z > 5
    with pytest.raises(Invalid) as refused:
        data_copying(far, reference, scope="authors")
    assert refused.value.slug == "empty-cell"


def test_features_of_another_dimension_are_refused(reference: CopyingReference) -> None:
    with pytest.raises(Invalid) as refused:
        data_copying(np.zeros((5, 3)), reference)
    assert refused.value.slug == "dimension-mismatch"


# Lemma 3: with the likeliest bandwidth, a kernel density keeps the distances of held-out samples


def posterior_squares(rows: Matrix, training: Matrix, bandwidth: float) -> Matrix:
    """The sum over t of Q(t|x) |x - t|^2 for every x. Q(t|x) is the probability that x came from the kernel at t."""
    squares = squared_distances(rows, training).astype(np.float64)
    return np.asarray((softmax(-squares / (2 * bandwidth**2), axis=1) * squares).sum(axis=1))


def likeliest(held_out: Matrix, training: Matrix) -> float:
    squares = squared_distances(held_out, training).astype(np.float64)
    dimension = training.shape[1]

    def cost(logarithm: float) -> float:
        kernels = logsumexp(-squares / (2 * np.exp(2 * logarithm)), axis=1)
        return float(-kernels.mean() + dimension * logarithm)

    grid = np.linspace(-6, 6, 121)
    best = float(grid[np.argmin([cost(logarithm) for logarithm in grid])])
    optimum = minimize_scalar(cost, bounds=(best - 0.2, best + 0.2), method="bounded", options={"xatol": 1e-10})
    return float(np.exp(optimum.x))


@given(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.tuples(st.integers(2, 40), st.integers(3, 40)),
    dimension=st.integers(1, 5),
)
@settings(max_examples=examples(30), deadline=None)
def test_the_likeliest_kernel_density_keeps_the_distances(seed: int, sizes: tuple[int, int], dimension: int) -> None:
    random = np.random.default_rng(seed)
    training, held_out = (random.standard_normal((count, dimension)) for count in sizes)
    bandwidth = likeliest(held_out, training)
    expected = posterior_squares(held_out, training, bandwidth)
    # For a draw y from the kernel at t, E |y - t|^2 = d sigma^2, which is the other side of the lemma.
    assert expected.mean() == pytest.approx(dimension * bandwidth**2, rel=1e-4)
    drawn = training[random.integers(0, len(training), 4000)]
    drawn = drawn + bandwidth * random.standard_normal(drawn.shape)
    own = posterior_squares(drawn, training, bandwidth)
    assert abs(own.mean() - expected.mean()) < 5 * own.std() / np.sqrt(len(own))


@given(seed=st.integers(0, 2**32 - 1), bandwidth=st.floats(0.003, 3.0))
@settings(max_examples=examples(30), deadline=None)
def test_the_distance_of_the_lemma_is_the_nearest_for_small_bandwidths(seed: int, bandwidth: float) -> None:
    random = np.random.default_rng(seed)
    training, rows = (random.standard_normal((count, 2), np.float32).astype(np.float64) for count in (60, 40))
    nearest = data_copying(rows, copying_reference_in(cut_at(0, [0.0], 2), training, rows)).placed.distance ** 2
    weighted = posterior_squares(rows, training, bandwidth)
    assert (weighted >= nearest * (1 - 1e-6)).all()
    if bandwidth < 0.02:
        assert np.median(weighted / nearest) < 1.05
