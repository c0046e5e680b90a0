"""The choice of tau: every method compared with its definition."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import Invalid
from scorer.metrics.statistics.class_separation import Confusion, area_under_curve, cohens_d, memorization_margin
from scorer.metrics.statistics.threshold_selection import METHODS, Interval, choose_tau, is_borderline
from tests.pure.oracles import auc_by_pairs, counts_below

grid = st.integers(0, 40).map(lambda step: step / 40)
entries = st.lists(st.tuples(grid, st.sampled_from([True, False, None])), min_size=2, max_size=25)


def split(given_entries: list[tuple[float, bool | None]]) -> tuple[list[float], list[bool | None]]:
    return [distance for distance, _ in given_entries], [label for _, label in given_entries]


def classes(given_entries: list[tuple[float, bool | None]]) -> tuple[list[float], list[float]]:
    return (
        [distance for distance, label in given_entries if label is True],
        [distance for distance, label in given_entries if label is False],
    )


def every_cut(distances: list[float]) -> list[float]:
    """One threshold for each split of the entries in two."""
    edges = sorted({0.0, *distances})
    return [*edges, edges[-1] + 1.0]


# The methods


def test_margin_is_the_middle_of_the_gap_between_the_classes() -> None:
    chosen = choose_tau([0.4, 0.1, 0.05, 0.3], [False, True, True, False])
    assert chosen.tau == pytest.approx(0.2)
    assert chosen.method == "margin"
    assert chosen.interval == Interval(0.1, 0.3)
    assert chosen.confusion == Confusion(2, 0, 0, 2)


def test_margin_prefers_missing_a_memoriser_to_a_false_penalty() -> None:
    distances, memorised = [0.1, 0.2, 0.3, 0.35, 0.5], [True, False, True, True, False]
    assert choose_tau(distances, memorised).tau == pytest.approx(0.15)
    assert choose_tau(distances, memorised, alpha=0.49).tau == pytest.approx(0.15)
    assert choose_tau(distances, memorised, alpha=0.5).tau == pytest.approx(0.425)


def test_alpha_is_an_inclusive_share_of_the_legitimate_entries() -> None:
    """29 of 100 is 0.29. A comparison with the product 0.29 * 100 would fail because of rounding."""
    distances = [*np.linspace(0.1, 0.2, 29), 0.25, *np.linspace(0.3, 0.9, 71)]
    memorised = [False] * 29 + [True] + [False] * 71
    chosen = choose_tau(distances, memorised, alpha=0.29)
    assert chosen.confusion == Confusion(1, 0, 29, 71)


def test_margin_prefers_the_widest_of_equal_gaps() -> None:
    distances, memorised = [0.1, 0.2, 0.5, 0.6], [True, None, None, False]
    assert choose_tau(distances, memorised).tau == pytest.approx(0.35)


def test_margin_penalises_no_labelled_entry_if_it_can_catch_none() -> None:
    chosen = choose_tau([0.2, 0.4], [False, True])
    assert chosen.tau == pytest.approx(0.1)
    assert chosen.confusion == Confusion(0, 1, 0, 1)
    assert chosen.interval == Interval(0.0, 0.2)


@pytest.mark.parametrize("near", [0.1, math.nextafter(0.1, 1.0)])
def test_margin_between_neighbouring_floats(near: float) -> None:
    """No number is between them, so the middle is rounded to one of them."""
    chosen = choose_tau([near, math.nextafter(near, 1.0)], [True, False])
    assert chosen.confusion == Confusion(1, 0, 0, 1)


def test_margin_with_a_legitimate_entry_at_zero() -> None:
    assert choose_tau([0.0, 0.4], [False, True]).tau == 0.0


@given(given_entries=entries, alpha=st.sampled_from([0.0, 0.1, 0.25, 0.5]))
@settings(deadline=None)
def test_no_threshold_catches_more_than_margin(given_entries: list[tuple[float, bool | None]], alpha: float) -> None:
    distances, memorised = split(given_entries)
    memorising, legitimate = (np.array(part) for part in classes(given_entries))
    if not len(memorising) or not len(legitimate):
        return
    caught, _, wronged = counts_below(choose_tau(distances, memorised, alpha=alpha).tau, memorising, legitimate)
    assert wronged <= alpha * len(legitimate)
    for tau in every_cut(distances):
        other, _, wrong = counts_below(tau, memorising, legitimate)
        assert wrong > alpha * len(legitimate) or other <= caught


@given(given_entries=entries)
@settings(deadline=None)
def test_no_threshold_makes_fewer_errors_than_accuracy(given_entries: list[tuple[float, bool | None]]) -> None:
    distances, memorised = split(given_entries)
    memorising, legitimate = (np.array(part) for part in classes(given_entries))
    if not len(memorising) or not len(legitimate):
        return
    chosen = choose_tau(distances, memorised, method="accuracy")
    assert chosen.confusion is not None
    fewest = min(sum(counts_below(tau, memorising, legitimate)[1:]) for tau in every_cut(distances))
    assert chosen.confusion.errors == fewest
    assert sum(counts_below(chosen.tau, memorising, legitimate)[1:]) == fewest


def test_accuracy_penalises_all_entries_only_if_that_is_best() -> None:
    above_all = choose_tau([0.1, 0.2, 0.3, 0.4], [False, True, True, True], method="accuracy")
    assert above_all.confusion == Confusion(3, 0, 1, 0)
    assert above_all.interval == Interval(0.4, None)
    tied = choose_tau([0.1, 0.2], [False, True], method="accuracy")
    assert tied.tau == pytest.approx(0.05)


@given(distances=st.lists(grid, min_size=2, max_size=30).filter(lambda values: len(set(values)) > 1))
@settings(deadline=None)
def test_otsu_minimises_the_variance_within_the_parts(distances: list[float]) -> None:
    def within(tau: float) -> float:
        values = np.array(distances)
        parts = values[values < tau], values[values >= tau]
        return float(sum(np.square(part - part.mean()).sum() for part in parts))

    chosen = choose_tau(distances, method="otsu")
    assert chosen.interval.low < chosen.tau < (chosen.interval.high or math.inf)
    cuts = sorted(set(distances))[1:]
    assert within(chosen.tau) <= min(within(tau) for tau in cuts) + 1e-12


def test_paper_held_out_and_manual() -> None:
    distances = [0.1, 0.2, 0.6]
    assert choose_tau(distances, method="paper").tau == pytest.approx(0.3)
    assert choose_tau(distances, method="held_out", held_out_distance=0.5).tau == 0.25
    assert choose_tau(distances, method="manual", tau=0.17).tau == 0.17


def test_held_out_needs_no_entries() -> None:
    chosen = choose_tau([], method="held_out", held_out_distance=0.36)
    assert chosen.tau == 0.18
    assert chosen.interval == Interval(0.0, None)
    assert (chosen.memorization_margin, chosen.relative_variance, chosen.auc) == (None, None, None)
    assert (chosen.cohens_d, chosen.confusion) == (None, None)


@pytest.mark.parametrize(
    ("options", "slug"),
    [
        ({}, "no-labels"),
        ({"memorised": [None, None, None]}, "no-labels"),
        ({"memorised": [True, None, True]}, "one-class-only"),
        ({"memorised": [None, False, None]}, "one-class-only"),
        ({"method": "accuracy"}, "no-labels"),
        ({"method": "accuracy", "memorised": [False, False, None]}, "one-class-only"),
        ({"method": "held_out"}, "no-held-out-distance"),
        ({"method": "held_out", "held_out_distance": math.nan}, "bad-tau"),
        ({"method": "manual"}, "no-tau"),
        ({"method": "manual", "tau": -0.1}, "bad-tau"),
        ({"method": "manual", "tau": math.inf}, "bad-tau"),
        ({"method": "guess"}, "unknown-method"),
        ({"memorised": [True, False]}, "bad-labels"),
        ({"memorised": [True, False, 2]}, "bad-labels"),
        ({"memorised": [True, False, None], "alpha": 1.0}, "bad-alpha"),
        ({"memorised": [True, False, None], "alpha": math.nan}, "bad-alpha"),
    ],
)
def test_a_method_reports_missing_or_invalid_inputs(options: dict[str, Any], slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        choose_tau([0.1, 0.2, 0.3], **options)
    assert refused.value.slug == slug


@pytest.mark.parametrize(
    ("distances", "method", "slug"),
    [
        ([], "paper", "no-distances"),
        ([], "otsu", "no-split"),
        ([0.2, 0.2], "otsu", "no-split"),
        ([0.2, math.nan], "paper", "bad-distances"),
        ([0.2, -0.1], "paper", "bad-distances"),
        ([[0.2]], "paper", "bad-distances"),
    ],
)
def test_insufficient_distances_are_refused(distances: list[Any], method: str, slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        choose_tau(distances, method=method)
    assert refused.value.slug == slug


# Reports of every choice


@given(given_entries=entries, method=st.sampled_from(METHODS))
@settings(deadline=None)
def test_no_threshold_in_the_interval_changes_the_penalties(
    given_entries: list[tuple[float, bool | None]], method: str
) -> None:
    distances, memorised = split(given_entries)
    try:
        chosen = choose_tau(distances, memorised, method, held_out_distance=0.5, tau=0.3)
    except Invalid:
        return
    low, high = chosen.interval.low, chosen.interval.high
    penalised = [distance < chosen.tau for distance in distances]
    top = 2.0 if high is None else high
    assert low <= chosen.tau <= top
    for tau in (math.nextafter(low, 3.0), (low + top) / 2, top):
        if low < tau <= top:
            assert [distance < tau for distance in distances] == penalised
    if any(penalised):
        assert [distance < low for distance in distances] != penalised
    if high is not None:
        assert [distance < math.nextafter(high, 3.0) for distance in distances] != penalised


@given(given_entries=entries)
@settings(deadline=None)
def test_labels_may_be_booleans_or_floats(given_entries: list[tuple[float, bool | None]]) -> None:
    distances, memorised = split(given_entries)
    as_floats = np.array([math.nan if label is None else float(label) for label in memorised])
    assert choose_tau(distances, memorised, "manual", tau=0.4) == choose_tau(
        np.array(distances), as_floats, "manual", tau=0.4
    )


def test_labels_may_be_an_array_of_booleans() -> None:
    assert choose_tau([0.1, 0.3], np.array([True, False])).tau == pytest.approx(0.2)


@given(
    memorising=st.lists(grid, min_size=1, max_size=12),
    legitimate=st.lists(grid, min_size=1, max_size=12),
)
def test_auc_counts_pairs(memorising: list[float], legitimate: list[float]) -> None:
    own, other = np.array(memorising), np.array(legitimate)
    assert area_under_curve(own, other) == pytest.approx(auc_by_pairs(own, other), abs=1e-12)


def test_undefined_statistics_are_none() -> None:
    one = choose_tau([0.1, 0.2, 0.3], [True, True, None], "manual", tau=0.15)
    assert (one.auc, one.cohens_d) == (None, None)
    assert one.confusion == Confusion(1, 1, 0, 0)
    assert area_under_curve(np.array([]), np.array([0.1])) is None
    assert cohens_d(np.array([0.1]), np.array([0.2, 0.3])) is None
    assert cohens_d(np.array([0.1, 0.1]), np.array([0.2, 0.2])) is None
    assert choose_tau([0.0, 0.0], method="paper").relative_variance is None


def test_cohens_d_is_in_standard_deviations() -> None:
    assert cohens_d(np.array([1.0, 3.0]), np.array([4.0, 6.0])) == pytest.approx(3.0 / math.sqrt(2.0))


def test_borderline_entries_are_within_two_standard_errors() -> None:
    distances, errors = np.array([0.10, 0.19, 0.25, 0.22, 0.30]), np.array([0.04, 0.01, 0.02, math.nan, 0.06])
    assert is_borderline(distances, errors, 0.20).tolist() == [False, True, False, False, True]


@given(distances=st.lists(grid, min_size=1, max_size=30), tau=grid)
def test_the_memorization_margin_is_the_least_sum_of_squares(distances: list[float], tau: float) -> None:
    least = memorization_margin(distances)
    assert least == pytest.approx(len(distances) * np.var(distances), abs=1e-12)
    assert least <= sum((distance - tau) ** 2 for distance in distances) + 1e-12


def test_no_entries_have_no_margin() -> None:
    with pytest.raises(Invalid) as refused:
        memorization_margin([])
    assert refused.value.slug == "no-distances"
