"""The detectable share of remembered images against the test itself on simulated targets."""

import numpy as np
import pytest

from scorer.metrics.copying.latent_recovery import RecoveryComparisons, recovery_test
from scorer.metrics.copying.recovery_power import detectable_memorisation, of_all_training_images
from tests.pure.oracles import Matrix


def errors(seed: int, count: int) -> Matrix:
    return 0.02 * np.random.default_rng(seed).lognormal(0.0, 1.0, count)


def test_the_test_finds_that_share_as_often_as_said() -> None:
    count = 60
    shares = detectable_memorisation(count, errors(0, count))
    assert shares.with_80 is not None
    assert shares.with_95 is not None
    assert shares.with_80 < shares.with_95
    for share, low, high in ((shares.with_80, 0.7, 0.95), (0.2 * shares.with_80, 0.0, 0.2)):
        found = 0
        for number in range(100):
            train, held_out = errors(2 * number + 1, count), errors(2 * number + 2, count)
            train[np.random.default_rng(number).random(count) < share] = 1e-9
            found += recovery_test(train, held_out, None).verdict == "copies"
        assert low <= found / 100 <= high, (share, found)


def test_the_share_at_200_targets_is_about_a_sixth() -> None:
    """What a simulation apart from this code found: 10, 52 and 92 % of generators at 10, 15 and 20 % remembered."""
    shares = detectable_memorisation(200, errors(0, 200))
    assert shares.with_80 == pytest.approx(0.18, abs=0.015)
    assert detectable_memorisation(200, errors(0, 200), tests=2).with_80 > shares.with_80  # type: ignore[operator]
    assert detectable_memorisation(8, errors(0, 2)).with_80 is None, "not even D = 1 would do"


def test_near_images_stand_for_a_smaller_share_of_all() -> None:
    """Of 10,000 training images 200 are remembered and near, as are 5 % of the others: 690 near ones, 29 % of them."""
    near = 200 + 0.05 * 9800
    assert of_all_training_images(200 / near, 0.05) == pytest.approx(0.02)
    assert of_all_training_images(None, 0.05) is None


def test_either_comparison_can_decide_and_both_share_the_level() -> None:
    fresh, own = errors(1, 100), np.full(60, 1e-6)
    alike = recovery_test(errors(2, 100), fresh, own)
    copied = recovery_test(0.2 * errors(3, 100), fresh, own)
    assert RecoveryComparisons(alike).p_value == alike.test.p_value
    both = RecoveryComparisons(alike, copied)
    assert (both.verdict, both.deciding, both.p_value) == ("copies", copied, 2 * copied.test.p_value)
    assert RecoveryComparisons(copied, alike).verdict == "copies"
    assert RecoveryComparisons(alike, alike).verdict == "no-sign"
    # A small p with training images made worse hides no copies.
    worse = recovery_test(fresh, 0.01 * copied.test.p_value * fresh, own)
    assert worse.test.p_value < copied.test.p_value
    assert RecoveryComparisons(worse, copied).deciding == copied
    # Nearly the level alone is not enough for two.
    for shift in np.linspace(0.5, 1.0, 200):
        close = recovery_test(shift * errors(3, 100), fresh, own)
        if 0.005 < close.test.p_value < 0.01:
            assert RecoveryComparisons(close).verdict == "copies"
            assert RecoveryComparisons(close, alike).verdict == "no-sign"
            break
    else:
        raise AssertionError("no shift has a p-value between a half and one per cent")
    lost = recovery_test(copied.train.median * np.ones(100), fresh, np.ones(60))
    assert RecoveryComparisons(lost, copied).verdict == "inconclusive"
