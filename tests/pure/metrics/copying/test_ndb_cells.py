"""Cells with too many or too few images, against the chi-squared test and values of others' code."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from scorer.errors import Invalid
from scorer.metrics.copying.ndb import excess_of, ndb_of

COUNTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=8).filter(
    lambda cells: min(sum(each) for each in zip(*cells, strict=True)) > 0
)


@given(cells=COUNTS)
def test_its_square_is_the_chi_squared_statistic(cells: list[tuple[int, int]]) -> None:
    generated, held_out = (np.array(each) for each in zip(*cells, strict=True))
    m, n = generated.sum(), held_out.sum()
    for own, other, z in zip(generated, held_out, excess_of(generated, held_out), strict=True):
        if own + other in {0, m + n}:
            assert z == 0.0
            continue
        table = [[other, n - other], [own, m - own]]
        assert z**2 == pytest.approx(chi2_contingency(table, correction=False).statistic, rel=1e-9, abs=1e-12)
        assert np.sign(z) == np.sign(own * n - other * m)


def test_cells_are_counted_on_either_side() -> None:
    assert ndb_of(np.array([1.64, 1.65, -1.64, -1.65, -9.0, 0.0])) == (1, 2)
    assert ndb_of(np.array([1.64, -1.64]), level=0.1) == (1, 1)


def test_five_percent_of_honest_cells_are_on_either_side() -> None:
    random = np.random.default_rng(1)
    counts = np.array(
        [ndb_of(excess_of(*(random.multinomial(size, [0.05] * 20) for size in (1000, 600)))) for _ in range(400)]
    )
    assert counts.mean(axis=0) / 20 == pytest.approx([0.05, 0.05], abs=0.01)


def test_without_images_there_are_no_shares() -> None:
    with pytest.raises(Invalid):
        excess_of(np.array([0, 0]), np.array([3, 4]))
