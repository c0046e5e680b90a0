"""The load benchmarks: their arithmetic, a quick run of each, and five minutes of the soak test."""

import math
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS, GROUPS, measure
from benchmarks.load import soak
from benchmarks.load.last_hour_findings import (
    Entry,
    Outcome,
    Refused,
    ScoreJob,
    ShownEstimate,
    Story,
    compute_findings,
    is_right_estimate,
)
from benchmarks.load.last_hour_plan import NETWORK_SECONDS, Attempt, draw_attempts
from benchmarks.load.service import WEB
from benchmarks.load.soak import MIN_GROWTH_BYTES, max_growth, measure_memory

MIB = float(1 << 20)


# The soak test: flat memory


def test_memory_that_only_warms_up_is_flat() -> None:
    series = [(float(second), 300 * MIB * (1 - math.exp(-second / 100))) for second in range(1000)]
    series[700] = (700.0, 900 * MIB)  # a jump that goes back is no slope
    assert is_flat(_soaked(series))


@pytest.mark.parametrize(("mib_an_hour", "flat"), [(10, True), (60, False)])
def test_a_leak_is_found(mib_an_hour: float, flat: bool) -> None:
    series = [(float(second), 100 * MIB + mib_an_hour * MIB * second / 3600) for second in range(0, 3600, 5)]
    soak_run = _soaked(series, 3600.0)
    assert soak_run[f"{WEB}_bytes_an_hour"] == pytest.approx(mib_an_hour * MIB)
    assert is_flat(soak_run) is flat
    assert MIN_GROWTH_BYTES == 16 * MIB


def is_flat(run: dict[str, float], part: str = WEB) -> bool:
    return run[f"{part}_growth_bytes"] <= max_growth(run, part)


def _soaked(series: list[tuple[float, float]], seconds: float = 1000.0) -> dict[str, float]:
    return {f"{WEB}_{name}": value for name, value in measure_memory(series, seconds).items()}


# The last hour: the plan


def test_the_plan_is_the_same_for_the_same_seed_and_rises_to_the_close() -> None:
    plan = draw_attempts(924, 3600.0, 2019)
    assert plan == draw_attempts(924, 3600.0, 2019)
    assert {attempt.team for attempt in plan} == set(range(924))
    halves = [sum(begin <= attempt.at < begin + 1800 for attempt in plan) for begin in (0, 1800)]
    assert halves[1] > 2 * halves[0]
    counts = [sum(attempt.way == way for attempt in plan) for way in ("api", "client", "wire")]
    assert max(counts) - min(counts) <= 1


def test_a_private_score_takes_longer() -> None:
    (low, high), (private, _) = NETWORK_SECONDS["public"], NETWORK_SECONDS["private"]
    assert 0 < low < high < private


# The last hour: the findings

HOUR = 1000.0


def _story(refused: list[Refused] | None = None, shown: list[ShownEstimate] | None = None) -> Story:
    accepted = {"a": Attempt(0, 0, 0.0, "api", faulty=False), "b": Attempt(0, 1, 0.0, "wire", faulty=True)}
    sent = {"a": (9.0, 10.0), "b": (19.0, 20.0)}
    return Story(HOUR, 2, accepted, sent, refused or [], shown or [])


def _outcome(b: str = "rejected", scores: list[ScoreJob] | None = None) -> Outcome:
    entries = {"a": Entry(7, "scored", 10.0, 110.0), "b": Entry(7, b, 20.0, 30.0)}
    return Outcome(entries, scores or [ScoreJob(7, 10.0, 50.0, 110.0)])


def test_valid_zips_must_be_scored_and_faulty_ones_rejected() -> None:
    assert compute_findings(_story(), _outcome(), 1.0)["wrong_outcomes"] == 0
    assert compute_findings(_story(), _outcome("failed"), 1.0)["wrong_outcomes"] == 1
    assert compute_findings(_story(), _outcome("scored"), 1.0)["wrong_outcomes"] == 1


@pytest.mark.parametrize(
    ("sent", "answered", "reason", "wrong"),
    [
        (25.0, 26.0, "pending-limit", 0),
        (25.0, 26.0, "Your team has 2 entries in progress", 0),
        (15.0, 16.0, "pending-limit", 1),
        (31.0, 32.0, "pending-limit", 1),
        (HOUR, HOUR + 1, "closed", 0),
        (HOUR - 0.5, HOUR + 1, "closed", 0),
        (HOUR - 3, HOUR - 2, "closed", 1),
        (HOUR - 3, HOUR + 3, "closed", 1),
        (25.0, 26.0, "daily-limit", 1),
        (25.0, 26.0, "", 1),
    ],
)
def test_a_refusal_needs_its_reason(sent: float, answered: float, reason: str, wrong: int) -> None:
    refused = [Refused(0, sent, answered, 429, reason)]
    assert compute_findings(_story(refused), _outcome(), 1.0)["wrongly_refused"] == wrong


def test_an_estimate_is_judged_by_the_wait_that_followed() -> None:
    assert is_right_estimate(70, 100)
    assert is_right_estimate(130, 100)
    assert not is_right_estimate(69, 100)
    assert not is_right_estimate(2, 0.5)
    assert is_right_estimate(2, 0.5, grain=2.0)
    shown = [
        ShownEstimate("a", 10.0, "received", 40),
        ShownEstimate("a", 20.0, "queued", 90),
        ShownEstimate("a", 60.0, "scoring", 1),
        ShownEstimate("b", 20.0, "received", 1),
    ]
    found = compute_findings(_story(shown=shown), _outcome(), 1.0)
    assert (found["estimates_first"], found["right_first"]) == (1, 0)
    assert (found["estimates_waiting"], found["right_waiting"]) == (2, 0.5)


def test_no_other_team_has_two_turns_while_one_waits() -> None:
    waits = ScoreJob(7, 10.0, 50.0, 110.0)
    others = [ScoreJob(8, 9.0, 20.0, 30.0), ScoreJob(9, 9.0, 20.0, 30.0)]
    fair = compute_findings(_story(), _outcome(scores=[waits, *others]), 1.0)
    assert (fair["fairness_first_unfair"], fair["fairness_largest_excess"]) == (0, 0)
    again = ScoreJob(8, 31.0, 40.0, 50.0)
    unfair = compute_findings(_story(), _outcome(scores=[waits, *others, again]), 1.0)
    assert (unfair["fairness_first_unfair"], unfair["fairness_largest_excess"]) == (1, 1)
    second = ScoreJob(7, 11.0, 60.0, 110.0)
    found = compute_findings(_story(), _outcome(scores=[waits, second, others[0], ScoreJob(8, 31.0, 55.0, 60.0)]), 1.0)
    assert (found["fairness_later_entries"], found["fairness_later_unfair"]) == (2, 0), (
        "the second entry waits for two turns"
    )
    served = ScoreJob(7, 8.0, 9.5, 9.8)
    found = compute_findings(_story(), _outcome(scores=[waits, served, *others, again]), 1.0)
    assert found["fairness_first_unfair"] == 0, "the team had a turn after the others were queued"
    long_ago = ScoreJob(7, 1.0, 2.0, 3.0)
    found = compute_findings(_story(), _outcome(scores=[waits, long_ago, *others, again]), 1.0)
    assert found["fairness_first_unfair"] == 1


# Whole runs


@pytest.mark.slow
@pytest.mark.parametrize("name", GROUPS["load"])
def test_a_load_benchmark_runs(name: str, tmp_path: Path) -> None:
    result = measure(name, "QUICK", tmp_path)
    assert all(math.isfinite(value) for value in result.cases[0].numbers.values())
    found = BENCHMARKS[name].load().findings(result)
    promises = [target for target in found.targets if target.bound == 0]
    assert all(promise.met for promise in promises), promises
    assert promises or name == "event_streams"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_stays_flat_for_five_minutes() -> None:
    (case,) = soak.measure(soak.Size(seconds=300.0))
    numbers = case.numbers
    assert numbers["errors"] == 0
    assert numbers["entries"] > 50
    for part in soak.PARTS:
        assert is_flat(numbers, part), {name: value for name, value in numbers.items() if name.startswith(part)}
