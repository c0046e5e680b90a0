"""Cohen's kappa against scikit-learn's and values by hand."""

import math
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from scorer.metrics.statistics.rater_agreement import cohens_kappa

LABELS = st.sampled_from(["legitimate", "mgan", "sup", "ae", "aug", "other"])


@given(st.lists(st.tuples(LABELS, LABELS), min_size=1, max_size=60))
def test_kappa_is_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    first, second = zip(*pairs, strict=True)
    kappa = cohens_kappa(first, second)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where it is not defined, as ours says by nan
        wanted = cohen_kappa_score(first, second)
    if math.isnan(kappa):
        assert len({*first, *second}) == 1
    else:
        assert kappa == pytest.approx(wanted, abs=1e-12)
        assert kappa == pytest.approx(cohens_kappa(second, first), abs=1e-12)
        assert -1 <= kappa <= 1


def test_kappa_by_hand() -> None:
    """20 + 15 of 50 agreed, 5 + 10 not: p_o = 0.7, p_e = 0.5 (the textbook's table)."""
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohens_kappa(first, second) == pytest.approx(0.4)
    assert cohens_kappa("ab", "ab") == 1
    assert cohens_kappa("ab", "ba") == -1


def test_kappa_says_nothing_where_there_is_nothing_to_say() -> None:
    assert math.isnan(cohens_kappa([], []))
    assert math.isnan(cohens_kappa(["ae"] * 4, ["ae"] * 4))
    with pytest.raises(ValueError, match="not of the same"):
        cohens_kappa(["ae"], [])
