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
)
from tests.pure.ranking.uncertainty_simulation import FIELDS, Report, simulate

MAX_MISCALIBRATION = {"tied": 0.09}
"""By kind of field: by how much the share that happened may differ from the probability told, in any tenth of 100
probabilities or more. Leaders that lie closer than they err are told apart a little too surely: the spread of the other
teams says that true scores differ."""


def scores(
    fid: list[float], fid_se: float = 0.1, distance: float | list[float] = 0.3, **more: list[SharedImages]
) -> MeasuredScores:
    """Entries with tau = 0.2 and an error of the distance of 0.001."""
    count = len(fid)
    distances = np.full(count, distance) if isinstance(distance, float) else np.array(distance)
    errors = np.full(count, fid_se), np.full(count, 0.001)
    shared = more.get("shared", [])
    return MeasuredScores(np.array(fid), errors[0], distances, errors[1], np.full(count, 0.2), 1e-15, shared)


def test_the_error_of_a_penalised_score_follows_from_both_of_its_parts() -> None:
    """The delta method against the spread of drawn quotients."""
    measured = scores([20.0, 20.0], distance=[0.3, 0.1])
    random = np.random.default_rng(1)
    drawn = random.normal(20.0, 0.1, 200_000) / random.normal(0.1, 0.001, 200_000)
    assert measured.score.tolist() == pytest.approx([20.0, 200.0])
    assert measured.standard_error[0] == 0.1
    assert measured.standard_error[1] == pytest.approx(drawn.std(), rel=0.02)


def test_a_penalty_that_is_held_at_1_adds_no_error() -> None:
    """In a signed space a distance can lie between 1 and tau."""
    fid, fid_se, distance, distance_se, tau = np.array([[20.0], [0.1], [1.5], [0.5], [1.75]])
    measured = MeasuredScores(fid, fid_se, distance, distance_se, tau, 1e-15)
    assert (measured.score[0], measured.standard_error[0]) == (20.0, 0.1)


def test_a_place_is_certain_as_far_as_scores_differ_by_more_than_they_err() -> None:
    """Two that lie 0.1 apart with errors of 0.1 may be either way round; the others are told apart."""
    measured = scores([10.0, 12.0, 12.1, 15.0])
    assert [column.tolist() for column in rank_intervals(measured)] == [[1, 2, 2, 4], [1, 3, 3, 4]]
    apart = measured.separation(1, 2)
    assert (apart.difference, apart.standard_error) == pytest.approx((0.1, 0.1 * 2**0.5))
    assert apart.in_standard_errors == pytest.approx(0.5**0.5)


def test_images_that_two_entries_share_err_alike_in_both() -> None:
    """The same difference is significant where nearly all images are shared."""
    alone, paired = scores([12.0, 12.2]), scores([12.0, 12.2], shared=[SharedImages(1, 0, 0.99)])
    assert rank_intervals(alone).last.tolist() == [2, 2]
    assert rank_intervals(paired).last.tolist() == [1, 2]
    assert paired.separation(0, 1).standard_error == pytest.approx(0.1 * 0.02**0.5)
    first_of = [float(rank_probabilities(each, [1])[0, 0]) for each in (alone, paired)]
    assert first_of[0] == pytest.approx(0.92, abs=0.03)
    assert first_of[1] > 0.99


def test_entries_with_the_same_images_are_the_same_on_every_board() -> None:
    """They cannot change places, whatever is drawn: the one that was handed in first stays before."""
    measured = scores([12.0, 12.0, 12.05], shared=[SharedImages(0, 1, 1.0)])
    assert measured.separation(0, 1).in_standard_errors is None
    first = rank_probabilities(measured, [1])[:, 0]
    assert first[1] == 0.0
    assert first.sum() == pytest.approx(1.0)


def test_an_entry_beside_the_threshold_may_be_penalised_or_not() -> None:
    """Half a standard error above tau: its penalty, were it due, would cost four places."""
    measured = scores([10.0, 20.0, 30.0, 40.0, 60.0], distance=[0.2005, 0.3, 0.3, 0.3, 0.3])
    first, last = rank_intervals(measured)
    assert (first[0], last[0]) == (1, 4)
    assert (first[4], last[4]) == (5, 5)
    beside, sure = measured.intervals.lowest[:2], measured.intervals.highest[:2]
    assert beside.tolist() == pytest.approx([10.0 - 0.1 * CRITICAL_VALUE, 20.0 - 0.1 * CRITICAL_VALUE])
    penalised = np.hypot(0.1 / 0.2, 10.0 * 0.001 / 0.2**2)
    assert sure.tolist() == pytest.approx([50.0 + penalised * CRITICAL_VALUE, 20.0 + 0.1 * CRITICAL_VALUE])
    assert rank_probabilities(measured, [1])[0, 0] == pytest.approx(0.69, abs=0.03)


def test_a_difference_beside_the_threshold_has_both_signs() -> None:
    """It is a hundred standard errors on the measured sides, and on the other one the worse is the better."""
    measured = scores([10.0, 20.0, 30.0], distance=[0.2005, 0.3, 0.3])
    beside, sure = measured.separation(0, 1), measured.separation(1, 2)
    assert beside.difference == 10.0
    assert beside.lowest < -29.0
    assert beside.highest == pytest.approx(10.0 + 0.1 * 2**0.5 * CRITICAL_VALUE)
    assert (sure.lowest, sure.highest) == pytest.approx((10.0 - 0.277180755, 10.0 + 0.277180755))


def test_draws_have_a_seed_and_no_team_gives_none() -> None:
    """Equal boards have equal probabilities; the places of a board are shared out among its teams."""
    measured = scores([10.0, 10.1, 10.2, 10.3, 10.4])
    told = rank_probabilities(measured, [1, 3])
    assert np.array_equal(told, rank_probabilities(measured, [1, 3]))
    assert not np.array_equal(told, rank_probabilities(measured, [1, 3], seed=2))
    assert told.sum(axis=0).tolist() == pytest.approx([1.0, 3.0])
    assert rank_probabilities(scores([]), [1]).shape == (0, 1)


def require_honest(kind: str, report: Report, *, tolerance: float, min_count: int) -> None:
    """Intervals of scores and of differences cover 93 to 97 %, intervals of ranks at least 93 %, and what is told with
    a probability happens as often."""
    covers = (0.93 - tolerance, 0.97 + tolerance)
    assert covers[0] <= np.mean(report.score_covered) <= covers[1]
    assert covers[0] <= np.mean(report.difference_covered) <= covers[1]
    assert np.mean(report.rank_covered) >= 0.93
    limit = MAX_MISCALIBRATION.get(kind, 0.05) + tolerance
    wrong = [tenth for tenth in report.calibration if tenth[2] >= min_count and abs(tenth[0] - tenth[1]) > limit]
    assert not wrong, report.lines()


@pytest.mark.parametrize("kind", FIELDS)
def test_intervals_and_probabilities_mean_what_they_say(kind: str) -> None:
    """In few simulated competitions."""
    require_honest(kind, simulate(FIELDS[kind], 40, seed=1, draws=200), tolerance=0.03, min_count=200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FIELDS)
def test_intervals_and_probabilities_are_right_in_2000_competitions(kind: str) -> None:
    """With the numbers, on the standard output."""
    report = simulate(FIELDS[kind], 2_000, seed=2)
    print(kind, *report.lines(), sep="\n")  # noqa: T201 - the counts, for people
    require_honest(kind, report, tolerance=0.0, min_count=500)


@pytest.mark.slow
def test_errors_of_measured_sets_cover_their_generators_average() -> None:
    """2,000 sets of features of one generator, measured: FID, memorization distance, and penalised scores of both."""
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
