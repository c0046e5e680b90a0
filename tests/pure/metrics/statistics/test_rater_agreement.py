"""Cohen's kappa and Krippendorff's alpha, compared with scikit-learn, published examples and plain definitions."""

import math
import warnings
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from scorer.metrics.statistics.rater_agreement import cohens_kappa, interval_alpha

LABELS = st.sampled_from(["legitimate", "mgan", "sup", "ae", "aug", "other"])


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=60))
def test_kappa_matches_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    first, second = zip(*pairs, strict=True)
    kappa = cohens_kappa(first, second)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns if kappa is undefined; ours is nan then
        expected = cohen_kappa_score(first, second)
    if math.isnan(kappa):
        assert len({*first, *second}) == 1
    else:
        assert kappa == pytest.approx(expected, abs=1e-12)
        assert kappa == pytest.approx(cohens_kappa(second, first), abs=1e-12)
        assert -1 <= kappa <= 1


def test_kappa_of_a_textbook_example() -> None:
    """The raters agree on 20 + 15 of 50 and disagree on 5 + 10, so p_o = 0.7 and p_e = 0.5."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohens_kappa(first, second) == pytest.approx(0.4)
    assert cohens_kappa("ab", "ab") == 1
    assert cohens_kappa("ab", "ba") == -1


def test_kappa_is_nan_if_it_is_undefined() -> None:
    assert math.isnan(cohens_kappa([], []))
    assert math.isnan(cohens_kappa(["ae"] * 4, ["ae"] * 4))
    with pytest.raises(ValueError, match="one rater has 1 labels"):
        cohens_kappa(["ae"], [])


Units = list[list[int]]
# Krippendorff (2011), sections C and E: four observers and twelve units, not all rated by every observer.
EXAMPLE: Units = [
    [1, 1, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [5, 5, 5], [1, 1], [3],
]  # fmt: skip


def alpha(units: Units) -> float | None:
    return interval_alpha(
        [len(unit) for unit in units], [sum(unit) for unit in units], [sum(v * v for v in unit) for unit in units]
    )


def plain(units: Units) -> float | None:
    """The definition, pair by pair."""
    paired = [unit for unit in units if len(unit) > 1]
    values = [value for unit in paired for value in unit]
    n = len(values)
    if n == 0:
        return None
    observed = sum(sum((v - w) ** 2 for v, w in permutations(unit, 2)) / (len(unit) - 1) for unit in paired) / n
    expected = sum((v - w) ** 2 for v, w in permutations(values, 2)) / (n * (n - 1))
    return None if expected == 0 else 1 - observed / expected


def test_the_published_example() -> None:
    agreement = alpha(EXAMPLE)
    assert agreement == pytest.approx(0.849, abs=5e-4)


@given(st.lists(st.lists(st.integers(1, 5), max_size=6), max_size=12))
def test_alpha_matches_the_definition(units: Units) -> None:
    agreement = alpha(units)
    expected = plain(units)
    assert (agreement is None) == (expected is None)
    assert agreement is None or math.isclose(agreement, expected or 0.0, abs_tol=1e-9)


def test_alpha_is_one_for_agreement_and_zero_for_chance() -> None:
    assert alpha([[1, 1], [5, 5, 5], [3, 3]]) == 1
    rng = np.random.default_rng(1)
    assert alpha(rng.integers(1, 6, (20_000, 3)).tolist()) == pytest.approx(0, abs=0.02)
    assert alpha([]) is alpha([[3], [4]]) is alpha([[2, 2], [2, 2]]) is None
