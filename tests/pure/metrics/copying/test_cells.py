"""Cells of the training features: their contents, number and storage."""

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from scorer.errors import Invalid
from scorer.metrics.copying.cells import Partition, fit_partition, partition_from, partition_of
from tests.examples import examples

Rows = NDArray[np.floating[Any]]


def clusters(seed: int, sizes: list[int], dimension: int = 5) -> Rows:
    """Distant groups, with the same centres for every seed."""
    centres = 20.0 * np.random.default_rng(0).standard_normal((len(sizes), dimension))
    random = np.random.default_rng(seed)
    return np.concatenate(
        [centre + random.standard_normal((n, dimension)) for centre, n in zip(centres, sizes, strict=True)]
    )


def fewest_held_out(partition: Partition, held_out: Rows) -> int:
    return int(partition.counts(partition.cells_of(partition.project(held_out))).min())


def test_every_group_is_a_cell() -> None:
    partition = partition_of(clusters(1, [50, 60, 70]), 3, seed=0)
    cells = partition.cells_of(partition.project(clusters(2, [10, 20, 30])))
    assert sorted(partition.counts(cells)) == [10, 20, 30]
    assert [len(set(cells[part])) for part in (slice(0, 10), slice(10, 30), slice(30, 60))] == [1, 1, 1]


def test_the_held_out_images_limit_the_number_of_cells() -> None:
    training = clusters(1, [80, 80, 80, 80])
    assert len(fit_partition(training, clusters(2, [25, 25, 25, 25]), seed=0)) == 4
    assert len(fit_partition(training, clusters(2, [97, 1, 1, 1]), seed=0)) < 4
    shares: list[float] = []
    assert len(fit_partition(training, clusters(2, [20, 0, 0, 0]), seed=0, progress=shares.append)) == 1
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@given(seed=st.integers(0, 1000), held_out_count=st.integers(20, 160), least=st.integers(1, 20), most=st.integers(1, 9))
@settings(max_examples=examples(25), deadline=None)
def test_every_cell_has_enough_held_out_images(seed: int, held_out_count: int, least: int, most: int) -> None:
    random = np.random.default_rng(seed)
    training, held_out = random.standard_normal((120, 3)), random.standard_normal((held_out_count, 3))
    partition = fit_partition(training, held_out, seed=seed, min_images=least, max_cells=most)
    assert fewest_held_out(partition, held_out) >= least
    assert 1 <= len(partition) <= min(most, held_out_count // least)


def test_the_projection_is_pca() -> None:
    training = np.random.default_rng(4).standard_normal((300, 40)) * np.arange(1, 41)
    partition = partition_of(training, 2, seed=0, components=6)
    other = PCA(6, svd_solver="full").fit(training)
    signs = np.sign((partition.axes.T * other.components_).sum(axis=1))
    expected = other.transform(training) * signs
    np.testing.assert_allclose(partition.project(training), expected, rtol=0, atol=1e-4)
    np.testing.assert_allclose(partition.axes.T @ partition.axes, np.eye(6), rtol=0, atol=1e-12)


def test_components_are_limited_by_images_and_dimensions() -> None:
    training = np.random.default_rng(5).standard_normal((30, 100)).astype(np.float32)
    assert partition_of(training, 1, seed=0).axes.shape == (100, 29)
    assert partition_of(training[:, :7], 1, seed=0).axes.shape == (7, 7)
    assert partition_of(np.tile(training, (4, 1)), 1, seed=0).axes.shape == (100, 64)


def test_the_projection_of_an_image_does_not_depend_on_its_position() -> None:
    training = np.abs(np.random.default_rng(6).standard_normal((1500, 96))).astype(np.float32)
    partition = partition_of(training, 1, seed=0)
    order = np.random.default_rng(7).permutation(1500)
    np.testing.assert_array_equal(partition.project(training[order][:777]), partition.project(training)[order][:777])


def test_a_partition_is_reproducible_and_can_be_stored() -> None:
    training, held_out = clusters(1, [80, 80, 80]), clusters(2, [30, 30, 30])
    one, again = (fit_partition(training, held_out, seed=8) for _ in range(2))
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **one.arrays())
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        loaded = partition_from(stored)
    for other in (again, loaded):
        for name, array in one.arrays().items():
            np.testing.assert_array_equal(array, other.arrays()[name])


@pytest.mark.parametrize(
    ("training", "held_out", "slug"),
    [
        (clusters(1, [30, 30]), clusters(2, [10, 9]), "too-few-images"),
        (clusters(1, [30, 30]), clusters(2, [30, 30], 4), "dimension-mismatch"),
        (clusters(1, [30, 30]), clusters(2, [30, 30]) * np.nan, "degenerate-features"),
        (clusters(1, [1]), clusters(2, [30, 30]), "too-few-images"),
    ],
)
def test_invalid_features_are_refused(training: Rows, held_out: Rows, slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        fit_partition(training, held_out, seed=0)
    assert refused.value.slug == slug


def test_few_distinct_images_give_few_cells() -> None:
    training = np.repeat(clusters(1, [1, 1, 1]), 20, axis=0)
    assert len(fit_partition(training, clusters(2, [40, 40, 40]), seed=0)) == 3
    with pytest.raises(Invalid) as refused:
        partition_of(training, 4, seed=0)
    assert refused.value.slug == "too-few-images"


def test_parts_of_different_dimensions_are_no_partition() -> None:
    with pytest.raises(Invalid):
        Partition(np.zeros(3), np.eye(3), np.zeros((2, 4)))
