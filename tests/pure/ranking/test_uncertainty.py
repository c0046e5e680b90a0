"""Tests of standard errors of scores, intervals of ranks and probabilities of ranks."""

import numpy as np
import pytest

from scorer.metrics.memorization import nearest
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from scorer.metrics.sample_quality.frechet_standard_error import frechet_standard_error
from scorer.ranking.uncertainty import (
    CRITICAL_VALUE,
    MeasuredScores,
    SharedImages,
    rank_intervals,
    rank_probabilities,
    spread_error,
)
from tests.pure.ranking.uncertainty_simulation import FIELDS, Report, simulate

MAX_MISCALIBRATION = {"tied": 0.09}
"""The largest difference between a predicted probability and the observed share, in any tenth of at least 100
probabilities, by kind of field. Leaders closer than their errors are distinguished with slightly too much certainty,
because the spread of the other teams suggests that true scores differ."""


def scores(
    fid: list[float], fid_se: float = 0.1, distance: float | list[float] = 0.3, **more: list[SharedImages]
) -> MeasuredScores:
    """Entries with tau = 0.2 and a standard error of the distance of 0.001."""
    count = len(fid)
    distances = np.full(count, distance) if isinstance(distance, float) else np.array(distance)
    errors = np.full(count, fid_se), np.full(count, 0.001)
    shared = more.get("shared", [])
    return MeasuredScores(np.array(fid), errors[0], distances, errors[1], np.full(count, 0.2), 1e-15, shared)


def test_the_error_of_a_penalised_score_includes_fid_and_distance() -> None:
    """This compares the delta method with the spread of random quotients."""
    measured = scores([20.0, 20.0], distance=[0.3, 0.1])
    random = np.random.default_rng(1)
    drawn = random.normal(20.0, 0.1, 200_000) / random.normal(0.1, 0.001, 200_000)
    assert measured.score.tolist() == pytest.approx([20.0, 200.0])
    assert measured.standard_error[0] == 0.1
    assert measured.standard_error[1] == pytest.approx(drawn.std(), rel=0.02)


def test_a_penalty_limited_to_1_adds_no_error() -> None:
    """In a signed feature space a distance can be between 1 and tau."""
    fid, fid_se, distance, distance_se, tau = np.array([[20.0], [0.1], [1.5], [0.5], [1.75]])
    measured = MeasuredScores(fid, fid_se, distance, distance_se, tau, 1e-15)
    assert (measured.score[0], measured.standard_error[0]) == (20.0, 0.1)


def test_the_interval_of_a_mean_over_few_draws_is_that_of_students_t() -> None:
    assert CRITICAL_VALUE * spread_error(0.3, 2) == pytest.approx(12.7062047 * 0.3 / 2**0.5)
    draws = np.random.default_rng(1).normal(20.0, 0.3, (20_000, 3))
    errors = np.array([spread_error(spread, 3) for spread in draws.std(axis=1, ddof=1).tolist()])
    assert np.mean(np.abs(draws.mean(axis=1) - 20.0) < CRITICAL_VALUE * errors) == pytest.approx(0.95, abs=0.005)


def test_a_rank_is_certain_if_scores_differ_by_more_than_their_errors() -> None:
    """Two entries 0.1 apart with errors of 0.1 can have either order. The others are distinguished."""
    measured = scores([10.0, 12.0, 12.1, 15.0])
    assert [column.tolist() for column in rank_intervals(measured)] == [[1, 2, 2, 4], [1, 3, 3, 4]]
    apart = measured.separation(1, 2)
    assert (apart.difference, apart.standard_error) == pytest.approx((0.1, 0.1 * 2**0.5))
    assert apart.in_standard_errors == pytest.approx(0.5**0.5)


def test_shared_images_have_the_same_error_in_both_entries() -> None:
    """The same difference becomes significant if nearly all images are shared."""
    alone, paired = scores([12.0, 12.2]), scores([12.0, 12.2], shared=[SharedImages(1, 0, 0.99)])
    assert rank_intervals(alone).last.tolist() == [2, 2]
    assert rank_intervals(paired).last.tolist() == [1, 2]
    assert paired.separation(0, 1).standard_error == pytest.approx(0.1 * 0.02**0.5)
    wins = [float(rank_probabilities(measured, [1])[0, 0]) for measured in (alone, paired)]
    assert wins[0] == pytest.approx(0.92, abs=0.03)
    assert wins[1] > 0.99


def test_entries_with_the_same_images_are_the_same_on_every_board() -> None:
    """No draw can swap them: the entry that was submitted first always ranks first."""
    measured = scores([12.0, 12.0, 12.05], shared=[SharedImages(0, 1, 1.0)])
    assert measured.separation(0, 1).in_standard_errors is None
    first = rank_probabilities(measured, [1])[:, 0]
    assert first[1] == 0.0
    assert first.sum() == pytest.approx(1.0)


def test_an_entry_near_the_threshold_may_be_penalised_or_not() -> None:
    """The entry is half a standard error above tau. A penalty would cost four places."""
    measured = scores([10.0, 20.0, 30.0, 40.0, 60.0], distance=[0.2005, 0.3, 0.3, 0.3, 0.3])
    first, last = rank_intervals(measured)
    assert (first[0], last[0]) == (1, 4)
    assert (first[4], last[4]) == (5, 5)
    lowest, highest = measured.intervals.lowest[:2], measured.intervals.highest[:2]
    assert lowest.tolist() == pytest.approx([10.0 - 0.1 * CRITICAL_VALUE, 20.0 - 0.1 * CRITICAL_VALUE])
    penalised = np.hypot(0.1 / 0.2, 10.0 * 0.001 / 0.2**2)
    assert highest.tolist() == pytest.approx([50.0 + penalised * CRITICAL_VALUE, 20.0 + 0.1 * CRITICAL_VALUE])
    assert rank_probabilities(measured, [1])[0, 0] == pytest.approx(0.69, abs=0.03)


def test_a_difference_near_the_threshold_has_both_signs() -> None:
    """Unpenalised, the first entry is better by a hundred standard errors. With a penalty it is worse."""
    measured = scores([10.0, 20.0, 30.0], distance=[0.2005, 0.3, 0.3])
    near, sure = measured.separation(0, 1), measured.separation(1, 2)
    assert near.difference == 10.0
    assert near.lowest < -29.0
    assert near.highest == pytest.approx(10.0 + 0.1 * 2**0.5 * CRITICAL_VALUE)
    assert (sure.lowest, sure.highest) == pytest.approx((10.0 - 0.277180755, 10.0 + 0.277180755))


def test_draws_have_a_seed_and_a_board_may_be_empty() -> None:
    """Equal boards have equal probabilities, which add up to the number of places."""
    measured = scores([10.0, 10.1, 10.2, 10.3, 10.4])
    probabilities = rank_probabilities(measured, [1, 3])
    assert np.array_equal(probabilities, rank_probabilities(measured, [1, 3]))
    assert not np.array_equal(probabilities, rank_probabilities(measured, [1, 3], seed=2))
    assert probabilities.sum(axis=0).tolist() == pytest.approx([1.0, 3.0])
    assert rank_probabilities(scores([]), [1]).shape == (0, 1)


def require_honest(kind: str, report: Report, *, tolerance: float, min_count: int) -> None:
    """Intervals of scores and differences must cover 93 to 97 % of the true values, intervals of ranks at least 93 %.
    Predicted probabilities must match the observed frequencies."""
    covers = (0.93 - tolerance, 0.97 + tolerance)
    assert covers[0] <= np.mean(report.score_covered) <= covers[1]
    assert covers[0] <= np.mean(report.difference_covered) <= covers[1]
    assert np.mean(report.rank_covered) >= 0.93
    limit = MAX_MISCALIBRATION.get(kind, 0.05) + tolerance
    wrong = [tenth for tenth in report.calibration if tenth[2] >= min_count and abs(tenth[0] - tenth[1]) > limit]
    assert not wrong, report.lines()


@pytest.mark.parametrize("kind", FIELDS)
def test_intervals_and_probabilities_are_right_in_few_competitions(kind: str) -> None:
    require_honest(kind, simulate(FIELDS[kind], 40, seed=1, draws=200), tolerance=0.03, min_count=200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FIELDS)
def test_intervals_and_probabilities_are_right_in_2000_competitions(kind: str) -> None:
    """This also prints the coverage."""
    report = simulate(FIELDS[kind], 2_000, seed=2)
    print(kind, *report.lines(), sep="\n")  # noqa: T201 - the counts, for people
    require_honest(kind, report, tolerance=0.0, min_count=500)


@pytest.mark.slow
def test_errors_of_measured_sets_cover_the_average_of_their_generator() -> None:
    """FID, memorization distance and penalised scores are measured on 2,000 sets of features of one generator."""
    random = np.random.default_rng(3)
    dimension, images, runs = 16, 800, 2_000
    training = np.abs(random.standard_normal((400, dimension)))
    reference = statistics_of(training)
    rows = []
    for _ in range(runs):
        generated = np.abs(random.standard_normal((images, dimension)) * 1.1 + 0.1)
        found = nearest(generated, training)
        fid_se = frechet_standard_error(generated, reference)
        assert fid_se is not None
        assert found.standard_error is not None
        rows.append((frechet_distance(statistics_of(generated), reference), fid_se, found.mean, found.standard_error))
    fid, fid_se, distance, distance_se = np.array(rows).T
    for tau in (0.0, 1.0):
        measured = MeasuredScores(fid, fid_se, distance, distance_se, np.full(runs, tau), 1e-15)
        error = measured.score - measured.score.mean()
        covered = np.mean(np.abs(error) <= CRITICAL_VALUE * measured.standard_error)
        pairs = np.hypot(measured.standard_error[::2], measured.standard_error[1::2])
        differences = np.mean(np.abs(error[::2] - error[1::2]) <= CRITICAL_VALUE * pairs)
        print(f"tau {tau}: scores {covered:.3f}, differences {differences:.3f}")  # noqa: T201 - the counts, for people
        assert 0.93 <= covered <= 0.97
        assert 0.93 <= differences <= 0.97
