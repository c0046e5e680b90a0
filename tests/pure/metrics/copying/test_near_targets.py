"""Which images near to an entry are compared: both kinds from one law, however many there are of either."""

import numpy as np

from scorer.metrics.copying.latent_recovery import kolmogorov_smirnov
from scorer.metrics.copying.near_targets import choose_near_targets


def test_both_kinds_are_nearer_than_one_distance() -> None:
    random = np.random.default_rng(0)
    train, held_out = random.random(5000), random.random(400)
    near = choose_near_targets(train, held_out, 50, random=random)
    assert near is not None
    limit = np.sort(held_out)[50]
    assert np.array_equal(near.held_out, np.flatnonzero(held_out < limit))
    assert (len(near.train), len(near.held_out), near.held_out_share) == (50, 50, 0.125)
    assert (train[near.train] < limit).all()
    assert len(set(near.train)) == 50
    assert (np.diff(near.train) > 0).all()


def test_the_test_on_near_images_holds_its_level() -> None:
    """Where nothing is remembered, p < 5 % in 5 % of cases, though images near to the entry are the easier ones and
    there are ten times as many training images. With the nearest training images it would be in most."""
    false_alarms = careless = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        distances = random.random(2000), random.random(200)
        train, held_out = (each + 0.2 * random.random(len(each)) for each in distances)  # the recovery errors
        near = choose_near_targets(*distances, 50, random=random)
        assert near is not None
        false_alarms += kolmogorov_smirnov(train[near.train], held_out[near.held_out]).p_value < 0.05
        nearest = np.argsort(distances[0])[:50]
        careless += kolmogorov_smirnov(train[nearest], held_out[near.held_out]).p_value < 0.05
    assert false_alarms <= 18  # 99.5 % of B(200, 0.05)
    assert careless > 100


def test_remembered_images_are_among_them() -> None:
    """Of 5,000 training images 2 % are copied by the entry: a quarter and more of the near ones."""
    random = np.random.default_rng(1)
    train, held_out = random.random(5000), random.random(1000)
    train[:100] = 0.0
    near = choose_near_targets(train, held_out, 50, random=random)
    assert near is not None
    assert (near.train < 100).mean() > 0.15


def test_too_few_are_none() -> None:
    random = np.random.default_rng(0)
    assert choose_near_targets(random.random(500), random.random(31), 50, random=random) is None, "a quarter is 7"
    assert choose_near_targets(random.random(500), random.random(32), 50, random=random) is not None
    assert choose_near_targets(1.0 + random.random(500), random.random(500), 50, random=random) is None
    assert choose_near_targets(random.random(500), np.zeros(500), 50, random=random) is None, "all equally near"
