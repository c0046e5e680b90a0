"""Coverage by hand, and the jackknife and all errors of PRDC against fresh samples."""

from dataclasses import astuple

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.metrics.sample_quality.prdc import CoverageCounter, manifold_of, prdc_with_error


def by_leaving_out(inside: NDArray[np.bool_]) -> float:
    """The jackknife's standard error of the covered share, one set after the other left out."""
    sets = len(inside)
    shares = [np.delete(inside, number, axis=0).any(axis=0).mean() for number in range(sets)]
    return float(np.sqrt((sets - 1) / sets * np.square(np.array(shares) - np.mean(shares)).sum()))


@pytest.mark.parametrize("block", [1, 7, 40])
@pytest.mark.parametrize("density", [0.0, 0.01, 0.05, 1.0])
def test_it_is_the_definition(block: int, density: float) -> None:
    inside = np.random.default_rng(0).random((40, 90)) < density
    cover = CoverageCounter(90)
    for start in range(0, 40, block):
        cover.add(inside[start : start + block], start)
    assert cover.share == inside.any(axis=0).mean()
    alone = inside.sum(axis=0) == 1
    np.testing.assert_array_equal(cover.exclusive_counts(40), inside[:, alone].sum(axis=1))
    assert cover.set_error(40) == pytest.approx(by_leaving_out(inside), abs=1e-12)


@pytest.mark.parametrize(("dimension", "scale"), [(4, 1.0), (8, 1.3), (16, 0.8)])
def test_the_errors_are_the_spread_over_fresh_samples_or_more(dimension: int, scale: float) -> None:
    reference = manifold_of(np.random.default_rng(1).standard_normal((200, dimension)))
    drawn = [
        prdc_with_error(scale * np.random.default_rng(seed).standard_normal((150, dimension)), reference)
        for seed in range(10, 110)
    ]
    spread = np.std([astuple(values) for values, _ in drawn], axis=0, ddof=1)
    ratio = np.mean([astuple(error) for _, error in drawn], axis=0) / spread
    assert ratio[[0, 2]] == pytest.approx([1.0, 1.0], abs=0.25)  # precision and density: means
    assert ((ratio[[1, 3]] > 0.8) & (ratio[[1, 3]] < 2.2)).all()  # recall and coverage: the jackknife, on the safe side


def test_the_values_are_those_without_errors() -> None:
    generated, reference = np.random.default_rng(2).standard_normal((2, 60, 5))
    values, error = prdc_with_error(generated, reference)
    assert error.precision == pytest.approx(np.sqrt(values.precision * (1 - values.precision) / 60))
    copied = prdc_with_error(reference, reference)[1]
    assert copied.precision == copied.coverage == 0.0
