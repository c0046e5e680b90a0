"""Partial copying: the share of images closer to training images than most held-out images are."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorer.errors import Invalid
from scorer.findings.copying import partial_copying_findings, partial_copying_sentence
from scorer.metrics.copying.partial_copying import PartialCopying, partial_copying, quantile_error
from scorer.metrics.memorization import nearest
from scorer.metrics.mifid import penalty
from tests.examples import examples
from tests.pure.oracles import Matrix

COPIES = "These images look like copies, even if the entry as a whole does not."


def uniform(seed: int, count: int) -> Matrix:
    return np.random.default_rng(seed).uniform(size=count)


def photographs(seed: int, count: int) -> Matrix:
    """Non-negative features. A held-out row is about as far from 2,000 others as in honest entries of 2019."""
    return np.abs(np.random.default_rng(seed).standard_normal((count, 128)))


def test_half_honest_and_half_copied_escapes_the_mean_but_not_the_count() -> None:
    """Half of the images are slightly changed copies of twenty training images. Tau is the public one of 2019."""
    training = photographs(1, 2000)
    honest = photographs(3, 1000)
    random = np.random.default_rng(2)
    copied = training[random.integers(0, 20, 1000)] + 0.01 * photographs(5, 1000)
    held_out, mixed = nearest(photographs(4, 500), training), nearest(np.concatenate((honest, copied)), training)
    assert mixed.mean == pytest.approx(0.122, abs=0.001)
    assert penalty(mixed.mean, 0.1) == 1.0
    partial = partial_copying(mixed.distance, held_out.distance)
    assert 0.5 <= partial.share < 0.53
    assert partial.p_value < 1e-6
    assert partial_copying_sentence(partial).endswith(COPIES)
    assert not partial_copying_sentence(
        partial_copying(nearest(honest, training).distance, held_out.distance)
    ).endswith(COPIES)


def test_quantiles_and_counts_of_a_small_example() -> None:
    own = np.array([0.0, 0.1, 0.2, 0.9])
    held_out = np.arange(1, 301) / 1000 + 0.1
    partial = partial_copying(own, held_out)
    assert (partial.rank, partial.below) == (3, 2)
    assert partial.limit == pytest.approx(0.103)
    assert (partial.share, partial.expected, partial.generated, partial.held_out) == (0.5, 3 / 301, 4, 300)
    assert partial.standard_error == pytest.approx(0.25)
    median = partial.quantiles[3]
    assert (median.level, median.generated, median.held_out) == pytest.approx((0.5, 0.15, 0.2505))
    assert [quantile.level for quantile in partial.quantiles] == sorted(
        quantile.level for quantile in partial.quantiles
    )


@given(n=st.integers(1, 5), m=st.integers(1, 4), rare=st.sampled_from([0.01, 0.3, 0.6]))
@settings(max_examples=examples(20), deadline=None)
def test_the_p_value_is_exact(n: int, m: int, rare: float) -> None:
    """The test labels every choice of m of n + m distinct distances as generated, all equally likely."""
    values = np.arange(1.0, n + m + 1)
    results = []
    for chosen in itertools.combinations(range(n + m), m):
        mask = np.isin(np.arange(n + m), chosen)
        results.append(partial_copying(values[mask], values[~mask], rare=rare))
    counts = np.array([result.below for result in results])
    assert counts.mean() / m == pytest.approx(results[0].expected, rel=1e-9)
    for result in results:
        assert result.p_value == pytest.approx((counts >= result.below).mean(), rel=1e-9)


def test_honest_entries_are_flagged_at_the_level_of_the_test() -> None:
    """With 100 held-out images, the limit is their minimum. As a fixed limit it would flag far too many entries."""
    flagged = [
        partial_copying(uniform(2 * seed, 1000), uniform(2 * seed + 1, 100)).p_value < 0.05 for seed in range(600)
    ]
    assert 0.02 < np.mean(flagged) < 0.08


def test_equal_distances_only_reduce_the_count() -> None:
    tied = partial_copying(np.array([0.1] * 50), np.array([0.1] * 200))
    assert (tied.below, tied.p_value) == (0, 1.0)


def test_held_out_images_that_are_training_images_give_no_result() -> None:
    partial = partial_copying(np.zeros(100), np.concatenate((np.zeros(10), np.full(90, 0.3))))
    assert (partial.is_informative, partial.below) == (False, 0)
    assert partial_copying_findings(partial)[0].value is None


@pytest.mark.parametrize(("below", "flagged"), [(49, False), (50, True)])
def test_the_sentence_distinguishes_few_from_many_close_images(below: int, flagged: bool) -> None:
    partial = PartialCopying((), limit=0.1, rank=5, below=below, generated=1000, held_out=500)
    assert partial.p_value < 0.01
    assert partial_copying_sentence(partial).endswith(
        COPIES if flagged else "There are more of them than chance explains, but still few."
    )
    chance = PartialCopying((), limit=0.1, rank=1, below=2, generated=20, held_out=20)
    assert partial_copying_sentence(chance).endswith("may be chance.")


@pytest.mark.parametrize(
    ("own", "held_out", "slug"),
    [([], [0.1], "too-few-images"), ([0.1], [], "too-few-images"), ([np.nan], [0.1], "bad-distances")],
)
def test_invalid_distances_are_refused(own: list[float], held_out: list[float], slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        partial_copying(np.array(own), np.array(held_out))
    assert refused.value.slug == slug


@pytest.mark.parametrize("level", [0.05, 0.5, 0.95])
def test_the_error_of_a_quantile_matches_its_spread(level: float) -> None:
    random = np.random.default_rng(9)
    samples = np.sort(random.exponential(size=(400, 500)), axis=1)
    spread = np.std(np.quantile(samples, level, axis=1), ddof=1)  # has an error of 4 %
    assert np.mean([quantile_error(sample, level) for sample in samples]) == pytest.approx(spread, rel=0.15)
