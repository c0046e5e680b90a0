"""Membership inference: AUC and true positives compared with their definitions, and the training images that an entry
reveals."""

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


def inference_on(
    entry: NDArray[np.float64], training: NDArray[np.float64] = TRAINING, held_out: NDArray[np.float64] = HELD_OUT
) -> MembershipInference:
    distances = (np.sqrt(neighbours(images, entry).squares[:, 0]) for images in (training, held_out))
    return membership_inference(*distances)


def test_auc_and_true_positives_match_the_definitions() -> None:
    entry = np.concatenate([TRAINING[:90], images(3, 100)])
    test = inference_on(entry)
    training, held_out = (
        np.linalg.norm(images[:, None] - entry, axis=2).min(axis=1) for images in (TRAINING, HELD_OUT)
    )
    labels = np.repeat([1, 0], [600, 300])
    assert test.auc == pytest.approx(roc_auc_score(labels, -np.concatenate([training, held_out])))
    assert test.nearest.share == np.mean(training < np.sort(held_out)[2])
    assert test.nearest.share >= 0.15
    assert test.ranks.p_larger < 1e-3
    assert test.nearest.p_value < 1e-6


def test_an_entry_unlike_the_training_images_reveals_none() -> None:
    """Training and held-out images are drawn again each time, so the result is due to chance only."""
    below = 0
    for seed in range(0, 600, 3):
        entry = 0.3 * images(1000 + seed, 80) + 1.0
        test = inference_on(entry, images(1001 + seed, 200), images(1002 + seed, 100))
        below += test.ranks.p_larger < 0.05
        assert abs(test.auc - 0.5) < 5 * test.auc_error
    assert 2 <= below <= 19  # 10 are expected; 99 % of counts are within these limits


def test_noise_on_all_copies_does_not_hide_them_as_a_whole() -> None:
    entry = TRAINING[:500] + 0.4 * images(4, 500)
    test = inference_on(entry)
    assert test.auc > 0.6
    assert test.ranks.p_larger < 1e-6


def test_the_findings() -> None:
    auc, share = membership_findings(inference_on(np.concatenate([TRAINING[:300], images(5, 100)])))
    assert (auc.name, share.name) == ("membership_auc", "membership_tpr")
    assert auc.error_kind == "null"
    assert auc.p_value is not None
    assert auc.p_value < 1e-4
    assert "about 50 %" in auc.sentence
    assert share.value is not None
    assert share.value >= 0.5
    assert "1.0 % would be expected by chance" in share.sentence
    auc, share = membership_findings(inference_on(np.concatenate([HELD_OUT, TRAINING[:5]])))
    assert auc.value is not None
    assert auc.value < 0.5
    assert share.value is None
    assert share.sentence.startswith("Some held-out images are in the entry")


def test_without_images_there_is_no_test() -> None:
    with pytest.raises(Invalid):
        membership_inference(np.zeros(0), np.ones(3))
