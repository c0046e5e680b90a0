"""Precision and recall as a curve (PRD), compared with published examples and known values."""

from dataclasses import astuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import Invalid
from scorer.metrics.sample_quality.prd import _spread, _summaries, curve_of, prd, summary_of
from tests.examples import examples

EVEN = np.full(4, 0.25)
UNEVEN = np.array([0.1, 0.2, 0.3, 0.4])


def normal(seed: int, count: int, shift: float = 0.0) -> Any:
    return np.random.default_rng(seed).standard_normal((count, 5)) + shift


def test_the_golden_values() -> None:
    precision, recall = curve_of(UNEVEN, EVEN, 11)
    assert precision[5] == pytest.approx(0.8)
    assert recall[5] == pytest.approx(0.8)
    assert precision[1:5] == pytest.approx([0.158384, 0.32492, 0.482144, 0.644907], abs=5e-7)
    summary = summary_of(UNEVEN, EVEN, 11)
    assert summary.recall == pytest.approx(0.9690257113, abs=5e-10)
    assert summary.precision == pytest.approx(0.9854067249, abs=5e-10)


def test_half_of_the_generated_images_are_not_real() -> None:
    precision, recall = curve_of(np.array([0.5, 0.5]), np.array([1.0, 0.0]), 11)
    assert precision[5] == pytest.approx(0.5)
    assert precision[10] == pytest.approx(0.5)
    assert recall[5] == pytest.approx(0.5)
    assert recall[1] == pytest.approx(1.0)


@given(seed=st.integers(0, 2**32 - 1), cells=st.integers(1, 12))
@settings(max_examples=examples(40), deadline=None)
def test_swapping_the_sets_swaps_precision_and_recall(seed: int, cells: int) -> None:
    q, p = np.random.default_rng(seed).dirichlet(np.ones(cells), 2)
    summary, swapped = summary_of(q, p), summary_of(p, q)
    assert summary.recall == pytest.approx(swapped.precision, abs=1e-9)
    assert summary.precision == pytest.approx(swapped.recall, abs=1e-9)
    precision, recall = curve_of(q, p)
    assert (np.diff(precision) >= -1e-12).all()
    assert (np.diff(recall) <= 1e-12).all()
    for square, value in ((64.0, summary.recall), (1 / 64.0, summary.precision)):
        whole = square * precision + recall
        assert value == pytest.approx(((1 + square) * precision * recall / whole).max(), rel=1e-9)


def test_similar_distant_and_collapsed_sets() -> None:
    random = np.random.default_rng(0)
    alike = prd(normal(1, 400), normal(2, 500), random=random)
    assert (alike.clusterings, alike.count) == (10, 400)
    assert alike.mean.recall > 0.9 < alike.mean.precision
    apart = prd(normal(3, 400, 50.0), normal(4, 400), random=random)
    assert apart.mean.recall == pytest.approx(0.0, abs=1e-8)
    few = prd(normal(5, 1) + 0.01 * normal(6, 400), normal(7, 400), random=random)
    assert few.mean.recall < 0.3
    assert few.mean.recall < few.mean.precision


def test_the_error_matches_the_spread_over_independent_samples() -> None:
    """The two clusterings are fixed: that of the samples, and one that joins its first two cells."""
    random = np.random.default_rng(8)
    joined = np.array([0, 0, 1, 2], np.int32)

    def cells() -> Any:
        sample = np.array([random.choice(4, 500, p=shares) for shares in (UNEVEN, EVEN)], np.int32)
        return np.stack([sample, joined[sample]])

    samples = [cells() for _ in range(150)]
    spread = np.std([_summaries(labels, 4).mean(axis=0) for labels in samples], axis=0, ddof=1)
    errors = np.mean([_spread(labels, 4, random) for labels in samples[:4]], axis=0)
    assert errors == pytest.approx(spread, rel=0.35)  # a bootstrap of four samples


def test_the_seed_fixes_the_result_and_clusterings_are_averaged() -> None:
    shares: list[float] = []
    one, other = (prd(normal(9, 200), normal(10, 200), random=np.random.default_rng(1), clusterings=1) for _ in "ab")
    assert one == other
    assert astuple(one.between) == (0.0, 0.0)
    many = prd(normal(9, 200), normal(10, 200), random=np.random.default_rng(1), clusterings=3, progress=shares.append)
    assert many.clusterings == 3
    assert many.mean.recall == pytest.approx(one.mean.recall, abs=0.1)
    assert shares == pytest.approx([1 / 3, 2 / 3, 1.0])


def test_the_spread_between_clusterings_is_part_of_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scorer.metrics.sample_quality.prd._spread", lambda *_: np.array([0.03, 0.04]))
    summaries = np.array([[0.9, 0.8], [0.8, 0.8], [0.7, 0.8]])
    monkeypatch.setattr("scorer.metrics.sample_quality.prd._summaries", lambda *_: summaries)
    three = prd(normal(9, 40), normal(10, 40), random=np.random.default_rng(1), clusterings=3)
    assert astuple(three.between) == pytest.approx((0.1, 0.0))
    assert astuple(three.error) == pytest.approx((np.sqrt(0.03**2 + 0.1**2 / 3), 0.04))


def test_too_few_images_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        prd(normal(11, 20), normal(12, 30), random=np.random.default_rng(0), cells=21)
    assert refused.value.slug == "too-few-images"
