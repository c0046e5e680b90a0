"""Membership inference: AUC and true positives by their definitions, and what an entry gives away."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from scorer.errors import Invalid
from scorer.findings.copying import membership_findings
from scorer.metrics.copying.membership_inference import MembershipInference, membership_inference
from scorer.metrics.euclidean import neighbours


def images(seed: int, count: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal((count, 5))


TRAINING, HELD_OUT = images(1, 600), images(2, 300)


def told_by(
    entry: NDArray[np.float64], training: NDArray[np.float64] = TRAINING, held_out: NDArray[np.float64] = HELD_OUT
) -> MembershipInference:
    distances = (np.sqrt(neighbours(each, entry).squares[:, 0]) for each in (training, held_out))
    return membership_inference(*distances)


def test_it_is_the_definition() -> None:
    entry = np.concatenate([TRAINING[:90], images(3, 100)])
    test = told_by(entry)
    training, held_out = (np.linalg.norm(each[:, None] - entry, axis=2).min(axis=1) for each in (TRAINING, HELD_OUT))
    labels = np.repeat([1, 0], [600, 300])
    assert test.auc == pytest.approx(roc_auc_score(labels, -np.concatenate([training, held_out])))
    assert test.nearest.share == np.mean(training < np.sort(held_out)[2])
    assert test.nearest.share >= 0.15
    assert test.ranks.p_larger < 1e-3
    assert test.nearest.p_value < 1e-6


def test_without_known_training_images_none_is_told_if_nothing_looks_real() -> None:
    """Chance is that of the training and held-out images: both are drawn anew each time."""
    below = 0
    for seed in range(0, 600, 3):
        entry = 0.3 * images(1000 + seed, 80) + 1.0
        test = told_by(entry, images(1001 + seed, 200), images(1002 + seed, 100))
        below += test.ranks.p_larger < 0.05
        assert abs(test.auc - 0.5) < 5 * test.auc_error
    assert 2 <= below <= 19  # 10 are expected; 99 % lie between


def test_noise_over_all_copies_hides_single_ones_and_not_the_whole() -> None:
    entry = TRAINING[:500] + 0.4 * images(4, 500)
    test = told_by(entry)
    assert test.auc > 0.6
    assert test.ranks.p_larger < 1e-6


def test_the_findings() -> None:
    auc, share = membership_findings(told_by(np.concatenate([TRAINING[:300], images(5, 100)])))
    assert (auc.name, share.name) == ("membership_auc", "membership_tpr")
    assert auc.error_kind == "null"
    assert auc.p_value is not None
    assert auc.p_value < 1e-4
    assert "about 50 %" in auc.sentence
    assert share.value is not None
    assert share.value >= 0.5
    assert "chance alone gives 1.0 %" in share.sentence
    auc, share = membership_findings(told_by(np.concatenate([HELD_OUT, TRAINING[:5]])))
    assert auc.value is not None
    assert auc.value < 0.5
    assert share.value is None
    assert share.sentence.startswith("Some held-out images are in the entry")


def test_without_images_there_is_no_test() -> None:
    with pytest.raises(Invalid):
        membership_inference(np.zeros(0), np.ones(3))
