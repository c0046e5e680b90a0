"""The FID gap: FID to training images beside FID to held-out ones."""

import numpy as np
import pytest

from scorer.errors import Invalid
from scorer.metrics.sample_quality.fid_gap import FidGap, fid_gap
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from tests.pure.oracles import Matrix


def drawn(seed: int, count: int = 300, shift: float = 0.0) -> Matrix:
    return np.random.default_rng(seed).standard_normal((count, 6)) + shift


def random() -> np.random.Generator:
    return np.random.default_rng(0)


def test_both_distances_are_the_frechet_distance() -> None:
    own = drawn(0, shift=0.5)
    train = drawn(1)
    fresh = drawn(2)
    result = fid_gap(own, train, fresh, random=random())
    assert result.train == pytest.approx(frechet_distance(statistics_of(own), statistics_of(train)), rel=1e-12)
    assert result.held_out == pytest.approx(frechet_distance(statistics_of(own), statistics_of(fresh)), rel=1e-12)
    assert result.count == 300


def test_real_sets_count_alike_whatever_their_sizes() -> None:
    """FID to few images is larger by its bias alone; a gap from nothing but that would be a false one."""
    own = drawn(0)
    train = drawn(1, 20_000)
    fresh = drawn(2, 60)
    result = fid_gap(own, train, fresh, random=random())
    assert result.count == 60
    biased = frechet_distance(statistics_of(own), statistics_of(train))
    assert result.train > 2 * biased
    assert result.gap is not None
    assert abs(result.gap) < 0.6


def test_copies_that_are_a_little_off_are_not_seen() -> None:
    """Every generated image is a training image with the same slight change: that change is all that FID sees."""
    train, fresh = drawn(1, 2000), drawn(2, 2000)
    result = fid_gap(train + 0.5, train, fresh, random=random())
    assert result.train == pytest.approx(6 * 0.25)
    assert result.gap is not None
    assert abs(result.gap) < 0.1


def test_signs() -> None:
    assert FidGap(1.0, 2.0, 9).gap == 0.5
    assert FidGap(3.0, 2.0, 9).gap == -0.5
    assert FidGap(3.0, 0.0, 9).gap is None
    with pytest.raises(Invalid, match="different networks"):
        fid_gap(drawn(0), drawn(1)[:, :5], drawn(2), random=random())
