"""The Inception score compared with torch-fidelity, a jackknife and known values."""

import numpy as np
import pytest
import torch
from torch_fidelity.metric_isc import KEY_METRIC_ISC_MEAN, isc_features_to_metric

from scorer.errors import Invalid
from scorer.metrics.sample_quality.inception_score import inception_score


@pytest.mark.parametrize("splits", [1, 4, 10])
def test_the_score_matches_torch_fidelity(splits: int) -> None:
    logits = 3.0 * np.random.default_rng(0).standard_normal((203, 17))
    expected = isc_features_to_metric(torch.from_numpy(logits), splits=splits, shuffle=False)
    score = inception_score(logits, splits=splits)
    assert score.value == pytest.approx(expected[KEY_METRIC_ISC_MEAN], rel=1e-12)


def test_the_standard_error_matches_the_spread_over_independent_samples() -> None:
    samples = [1.5 * np.random.default_rng(seed).standard_normal((300, 6)) for seed in range(300)]
    scores = [inception_score(sample, splits=3) for sample in samples]
    spread = np.std([score.value for score in scores], ddof=1)  # has an error of 4 %
    assert np.mean([score.standard_error for score in scores]) == pytest.approx(spread, rel=0.12)


def test_the_standard_error_matches_a_jackknife_of_each_split() -> None:
    logits = 2.0 * np.random.default_rng(4).standard_normal((24, 5))
    score = inception_score(logits, splits=2)
    variance = 0.0
    for split in (logits[:12], logits[12:]):
        without = [inception_score(np.delete(split, row, 0), splits=1).value for row in range(12)]
        variance += 11 / 12 * np.square(np.subtract(without, np.mean(without))).sum()
    assert score.standard_error == pytest.approx(np.sqrt(variance) / 2)


def test_the_score_ranges_from_1_to_the_number_of_classes() -> None:
    certain = np.where(np.eye(5, dtype=bool), 0.0, -2000.0)
    assert inception_score(np.tile(certain, (4, 1)), splits=1).value == pytest.approx(5.0)
    assert inception_score(np.zeros((20, 5)), splits=2).value == pytest.approx(1.0)
    assert inception_score(np.tile(certain[:1], (20, 1)), splits=2).value == pytest.approx(1.0)


def test_the_order_is_random_and_follows_the_seed() -> None:
    logits = np.random.default_rng(1).standard_normal((100, 7)).astype(np.float32)
    one, same, other = (inception_score(logits, random=np.random.default_rng(seed)) for seed in (2, 2, 3))
    assert one == same != other


def test_invalid_logits_are_refused() -> None:
    with pytest.raises(Invalid) as refused:
        inception_score(np.ones((9, 3)), splits=10)
    assert refused.value.slug == "too-few-images"
    with pytest.raises(Invalid):
        inception_score(np.full((10, 3), np.nan))
