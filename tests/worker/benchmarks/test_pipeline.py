"""The simulation of processes that take turns on a GPU, against cases that can be computed by hand."""

from dataclasses import replace

import pytest

from benchmarks.gpu import host_stages, submissions
from benchmarks.gpu.pipeline import Machine, Outcome, Stage, simulate
from benchmarks.gpu.submissions import TrackWork
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.speed import evidence, frechet, neighbours
from tests.worker.benchmarks.test_benchmarks import MACHINE

CHECK = [Stage(0.01)]
ENTRIES = 100


def simulated(gpu: float, host: float, *, scoring: int, cores: int = 16, check: float = 0.01) -> Outcome:
    return simulate(ENTRIES, [Stage(check)], [[Stage(gpu, gpu=True), Stage(host, 2)]], Machine(cores, scoring, 1))


def test_one_process_leaves_the_gpu_idle_while_the_host_works() -> None:
    outcome = simulated(4.0, 6.0, scoring=1)
    rounds = 4.0 * ENTRIES + 6.0 * (ENTRIES - 1)
    assert outcome.idle_share == pytest.approx(6.0 * (ENTRIES - 1) / rounds)
    assert outcome.seconds == pytest.approx(rounds + 6.0 + 0.01)


def test_two_processes_hide_a_host_that_is_faster_than_the_gpu() -> None:
    outcome = simulated(4.0, 3.9, scoring=2)
    assert outcome.idle_share == pytest.approx(0.0)
    assert outcome.seconds == pytest.approx(4.0 * ENTRIES + 3.9 + 0.01)


def test_two_processes_are_too_few_for_a_host_that_is_slower() -> None:
    """Each round of two entries takes one entry's stages: 4 + 6 s, in which the GPU works for 8."""
    assert simulated(4.0, 6.0, scoring=2).idle_share == pytest.approx(0.2, abs=0.01)
    assert simulated(4.0, 6.0, scoring=3).idle_share == pytest.approx(0.0)


def test_stages_slow_down_where_there_are_too_few_cores() -> None:
    """A host's stage of two cores takes twice as long on one."""
    assert simulated(4.0, 3.0, scoring=1, cores=1).seconds == pytest.approx(ENTRIES * (4.0 + 6.0), rel=0.01)


def test_a_check_that_is_slower_than_the_gpu_decides() -> None:
    outcome = simulated(1.0, 0.5, scoring=2, check=2.0)
    assert outcome.seconds == pytest.approx(2.0 * ENTRIES + 1.5)
    assert outcome.idle_share == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("gpu", [0.7, 1.1, 23.17, 23.19])
def test_an_idle_share_is_never_below_zero(gpu: float) -> None:
    """The batches of a GPU that is always busy may add up to more than the span, by rounding."""
    assert simulated(gpu, 0.1, scoring=2).idle_share >= 0.0


def test_every_track_of_every_entry_is_scored_and_public_ones_first() -> None:
    tracks = [[Stage(1.0, gpu=True)], [Stage(3.0, gpu=True)]]
    outcome = simulate(ENTRIES, CHECK, tracks, Machine(16, 1, 1))
    assert outcome.idle_share == pytest.approx(0.0)
    assert outcome.seconds == pytest.approx(4.0 * ENTRIES + 0.01)


def measured(seconds: float) -> dict[str, BenchmarkResult]:
    """Measurements in which the Fréchet distance takes so long, and everything else of a score a tenth of a second."""
    stages = [{"seconds": 9.9, "cpu_seconds": 0.1}]
    names = [*host_stages.DECODERS, *host_stages.STAGES]
    dimensions = (2048, 4032)
    cases = {
        host_stages.NAME: [
            BenchmarkCase(name, {}, dict.fromkeys(names, stages))
            for name in (host_stages.DECODING, *map(host_stages.case_of, dimensions))
        ],
        frechet.NAME: [BenchmarkCase(f"d = {each}", {}, {"Kennel": [{"seconds": seconds}]}) for each in dimensions],
        neighbours.NAME: [BenchmarkCase("neighbours", {"dimension": 2048}, {"Kennel": [{"seconds": 0.1}]})],
        evidence.NAME: [
            BenchmarkCase("evidence", {"dimension": 2048}, {evidence.ALL: [{"seconds": 50.0, "cpu_seconds": 90.0}]})
        ],
    }
    return {name: BenchmarkResult(name, MACHINE, each) for name, each in cases.items()}


TRACKS = [TrackWork("public", 2048, 4.0, 0.1), TrackWork("private", 4032, 20.0, 0.2)]


@pytest.mark.parametrize(("seconds", "verdict"), [(2.0, "under the tenth"), (30.0, "over the tenth")])
def test_the_verdict_follows_from_what_was_measured(seconds: float, verdict: str) -> None:
    text = submissions.section(measured(seconds), TRACKS, TRACKS)
    assert verdict in text
    assert "takes 24.0 s" in text
    idle = submissions.outcome_of(measured(seconds), TRACKS, submissions.Scenario()).idle_share
    assert f"is idle for {idle:.1%} of the time" in text
    assert f"- `{evidence.NAME}` of {MACHINE['date']}, without a commit, on {MACHINE['processor']}" in text
    assert "at least 180 s: 8 cores" in text.replace("\n", " ")


def test_without_a_scratch_folder_in_common_images_are_decoded_again() -> None:
    own = submissions.Scenario(scoring=1, shared_scratch=False, decoding=1)
    shared = submissions.Scenario(scoring=1, decoding=1)
    times = [submissions.outcome_of(measured(2.0), TRACKS, each).seconds for each in (shared, own)]
    assert times[1] - times[0] == pytest.approx(2 * 0.1 * submissions.ENTRIES, rel=0.02)


def test_what_was_not_measured_is_not_made_up() -> None:
    results = measured(2.0)
    results[frechet.NAME] = replace(results[frechet.NAME], cases=results[frechet.NAME].cases[:1])
    with pytest.raises(LookupError, match="d = 4032: python -m benchmarks frechet"):
        submissions.section(results, TRACKS, TRACKS)
