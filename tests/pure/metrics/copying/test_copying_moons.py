"""Data-copying on two moons: the paper's curve for kernel densities from copies of the training points to a blur."""

import numpy as np
import pytest

from benchmarks.papers.copying_moons import BASELINES, MoonsExperiment, MoonsReading, crossing

# The mean C_T over ten draws with the authors' formula, computed with other code.
CURVE = {0.001: -17.36, 0.01: -11.75, 0.05: -1.58, 0.1: -0.32, 0.12: 0.16, 0.2: 1.57, 0.5: 5.75, 1.0: 10.06}


@pytest.fixture(scope="module")
def experiment() -> MoonsExperiment:
    return MoonsExperiment()


@pytest.fixture(scope="module")
def readings(experiment: MoonsExperiment) -> list[MoonsReading]:
    return [experiment.read(bandwidth, draws=3) for bandwidth in CURVE]


def test_c_t_follows_the_curve_of_the_authors(readings: list[MoonsReading]) -> None:
    """Single draws vary by 0.3, and means of three draws by 0.2. The authors search neighbours within the cell."""
    assert [reading.c_t for reading in readings] == pytest.approx(list(CURVE.values()), abs=0.35)
    assert all(reading.c_t_deviation < 0.6 for reading in readings)
    assert [reading.c_t for reading in readings] == sorted(reading.c_t for reading in readings)
    assert (readings[0].overall_z, readings[-1].overall_z) == pytest.approx((-38.5, 22.9), abs=1.0)


def test_c_t_crosses_zero_at_the_bandwidth_of_maximum_likelihood(
    experiment: MoonsExperiment, readings: list[MoonsReading]
) -> None:
    assert crossing(readings) == pytest.approx(0.11, abs=0.015)
    bandwidths = [0.05, 0.065, 0.08, 0.1, 0.12, 0.15, 0.2]
    assert bandwidths[int(np.argmax([experiment.likelihood(bandwidth) for bandwidth in bandwidths]))] == 0.1


def test_the_frechet_distance_does_not_detect_the_copies(readings: list[MoonsReading]) -> None:
    copied = readings[0].fid
    honest = readings[3].fid
    blurred = readings[-1].fid
    assert abs(copied - honest) < 0.001
    assert blurred > 100 * honest


def test_the_likelihood_gap_detects_copies_and_not_the_blur(readings: list[MoonsReading]) -> None:
    gaps = [reading.gap for reading in readings]
    assert gaps == sorted(gaps, reverse=True)
    assert gaps[0] > 100
    assert gaps[-1] < 0.01


def test_the_other_tests_hardly_detect_the_copies(readings: list[MoonsReading]) -> None:
    """As in figure 2 of the paper, the baselines hardly change between copies and the likeliest bandwidth."""
    copied, likeliest, blurred = (readings[place] for place in (0, 3, -1))
    for name in ("ndb", "recall", "precision"):
        assert copied.baselines[name].mean == pytest.approx(likeliest.baselines[name].mean, abs=0.08), name
    # The three-sample test finds the blur farther away, and copies no closer than by chance.
    assert copied.baselines["mmd_p"].mean > 0.05
    assert blurred.baselines["mmd_p"].mean > 0.99
    # The nearest neighbour of a copy is its original if that is in the half of the points that the test uses.
    assert copied.baselines["nearest_training"].mean < likeliest.baselines["nearest_training"].mean
    assert blurred.baselines["nearest_generated"].mean > 0.6
    assert set(copied.baselines) == set(BASELINES)


def test_the_scope_of_the_authors_gives_their_curve(readings: list[MoonsReading]) -> None:
    reading = MoonsExperiment(authors=True).read(0.01, draws=3)
    assert reading.c_t == pytest.approx(CURVE[0.01], abs=0.35)
    assert reading.c_t != readings[1].c_t, "some nearest training points are in another cell"


def test_no_crossing_is_none(readings: list[MoonsReading]) -> None:
    assert crossing(readings[:3]) is None
    assert crossing(readings[5:]) is None
