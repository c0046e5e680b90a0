"""Data-copying on two moons, the paper's curve: kernel densities from copies of the training points to a blur."""

import numpy as np
import pytest

from benchmarks.papers.copying_moons import BASELINES, MoonsExperiment, MoonsReading, crossing

# Mean C_T over ten draws by the authors' formula, computed apart from this code.
CURVE = {0.001: -17.36, 0.01: -11.75, 0.05: -1.58, 0.1: -0.32, 0.12: 0.16, 0.2: 1.57, 0.5: 5.75, 1.0: 10.06}


@pytest.fixture(scope="module")
def experiment() -> MoonsExperiment:
    return MoonsExperiment()


@pytest.fixture(scope="module")
def readings(experiment: MoonsExperiment) -> list[MoonsReading]:
    return [experiment.read(bandwidth, draws=3) for bandwidth in CURVE]


def test_c_t_is_the_authors_curve(readings: list[MoonsReading]) -> None:
    """Single draws vary by 0.3, so the means of three by 0.2; the authors look for neighbours within the cell."""
    assert [each.c_t for each in readings] == pytest.approx(list(CURVE.values()), abs=0.35)
    assert all(each.c_t_deviation < 0.6 for each in readings)
    assert [each.c_t for each in readings] == sorted(each.c_t for each in readings)
    assert (readings[0].overall_z, readings[-1].overall_z) == pytest.approx((-38.5, 22.9), abs=1.0)


def test_it_crosses_zero_where_validation_points_are_likeliest(
    experiment: MoonsExperiment, readings: list[MoonsReading]
) -> None:
    assert crossing(readings) == pytest.approx(0.11, abs=0.015)
    tried = [0.05, 0.065, 0.08, 0.1, 0.12, 0.15, 0.2]
    assert tried[int(np.argmax([experiment.likelihood(each) for each in tried]))] == 0.1


def test_the_frechet_distance_does_not_see_the_copies(readings: list[MoonsReading]) -> None:
    copied = readings[0].fid
    honest = readings[3].fid
    blurred = readings[-1].fid
    assert abs(copied - honest) < 0.001
    assert blurred > 100 * honest


def test_the_likelihood_gap_sees_copies_and_not_the_blur(readings: list[MoonsReading]) -> None:
    gaps = [each.gap for each in readings]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 100
    assert gaps[-1] < 0.01


def test_the_other_tests_hardly_see_the_copies(readings: list[MoonsReading]) -> None:
    """The paper's figure 2: between copies and the likeliest bandwidth the baselines do not move as C_T does."""
    copied, likeliest, blurred = (readings[place] for place in (0, 3, -1))
    for name in ("ndb", "recall", "precision"):
        assert copied.baselines[name].mean == pytest.approx(likeliest.baselines[name].mean, abs=0.08), name
    # The test of three samples finds the blur farther away, and copies no closer than chance would have it.
    assert copied.baselines["mmd_p"].mean > 0.05
    assert blurred.baselines["mmd_p"].mean > 0.99
    # Of copies the nearest neighbour is the original, if it is among the half of the points that take part.
    assert copied.baselines["nearest_training"].mean < likeliest.baselines["nearest_training"].mean
    assert blurred.baselines["nearest_generated"].mean > 0.6
    assert set(copied.baselines) == set(BASELINES)


def test_the_authors_scope_gives_the_authors_curve(readings: list[MoonsReading]) -> None:
    reading = MoonsExperiment(authors=True).read(0.01, draws=3)
    assert reading.c_t == pytest.approx(CURVE[0.01], abs=0.35)
    assert reading.c_t != readings[1].c_t, "some nearest training points lie in another cell"


def test_no_crossing_is_none(readings: list[MoonsReading]) -> None:
    assert crossing(readings[:3]) is None
    assert crossing(readings[5:]) is None
