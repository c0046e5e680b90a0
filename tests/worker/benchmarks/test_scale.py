"""The scale benchmarks: arrivals, workers on simulated time, hardware needs, and a small competition."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kombu.transport import virtual

from benchmarks.harness.report import rendered
from benchmarks.scale import capacity, parts, thousand
from benchmarks.scale.arrivals import (
    DAILY_LIMIT,
    DAY,
    ENTRIES,
    TEAMS,
    draw_arrivals,
    entries_by_hour,
    load_2019_moments,
)
from benchmarks.scale.capacity import ASSUMED, arrivals, compute_needs, needed_gpus, waits
from benchmarks.scale.clocked_web import one_in
from benchmarks.scale.simulation import WorkerPool, take_message
from scorer.lifecycle import Queue

COSTS = {"public": 4, "private": 16, "host": 20, "evidence": 300, "web": 0.05, "database": 0.05}
EXPENSIVE: dict[str, Any] = {**ASSUMED, "entry": COSTS | {"database_bytes": 10_000}}


# Arrivals


def test_every_team_submits_within_the_daily_limit() -> None:
    plan = draw_arrivals(TEAMS, ENTRIES, 60, seed=2019)
    assert plan == draw_arrivals(TEAMS, ENTRIES, 60, seed=2019)
    assert len(plan) == ENTRIES
    assert {arrival.team for arrival in plan} == set(range(TEAMS))
    assert max(Counter((arrival.team, arrival.at // DAY) for arrival in plan).values()) == DAILY_LIMIT
    assert [arrival.at for arrival in plan] == sorted(arrival.at for arrival in plan)
    last_day = sum(arrival.at >= 59 * DAY for arrival in plan) / ENTRIES
    assert last_day == pytest.approx(np.mean(load_2019_moments() >= 59 / 60), abs=0.01)


def test_hours_have_the_shape_of_the_released_entries() -> None:
    hours = entries_by_hour()
    assert hours.sum() == pytest.approx(ENTRIES)
    assert hours[-24:].sum() / ENTRIES == pytest.approx(np.mean(load_2019_moments() >= 59 / 60), abs=0.002)


# Workers


def test_workers_are_busy_until_their_jobs_end() -> None:
    pool = WorkerPool(Queue.SCORE, 2, lambda _: 1.0)
    assert list(pool.free) == ["score-0", "score-1"]
    pool.busy += [(0.0, 5.0), (5.0, 15.0)]
    assert pool.busy_share(10.0) == pytest.approx(0.5), "time after the end does not count"


# Messages


class StubChannel:
    """A channel with these results of its first looks: a message or nothing. Later looks find nothing."""

    def __init__(self, looks: Sequence[bool]) -> None:
        self.looks = list(looks)

    def basic_get(self, queue: str, no_ack: bool = False) -> object | None:
        """The result of the next look."""
        assert (queue, no_ack) == ("score", True)
        return "message" if self.looks and self.looks.pop(0) else None


def test_a_late_message_is_awaited() -> None:
    channel = StubChannel([False, False, True])
    take_message(channel, Queue.SCORE)
    assert channel.looks == [], "the message was taken"


def test_waiting_for_a_message_has_a_limit() -> None:
    with pytest.raises(TimeoutError, match="score has no message"):
        take_message(StubChannel([]), Queue.SCORE, seconds=0.01)


# Uploads


def test_one_upload_of_several_has_a_limited_process() -> None:
    is_limited = one_in(4)
    assert [is_limited(None) for _ in range(9)] == [True, False, False, False, True, False, False, False, True]


# Hardware needs


def test_the_model_of_rates_lets_public_scores_go_first() -> None:
    hour = np.array([1000.0, 0.0, 0.0, 0.0, 0.0])  # 4,000 s of public scores, 16,000 s of private ones
    result = waits(hour, 1, 4, private=16)
    assert result.public == 400 + 4, "after an hour 400 s of public scores remain"
    assert result.private == 20_000 - 5 * 3600 + 16
    assert waits(hour, 10, 4, private=16).public == 4


def test_the_needed_gpus_keep_the_targets_and_one_less_does_not() -> None:
    wanted = ASSUMED["wanted"] | {"gpu_busy_share": 1.0}
    for evenly in (False, True):
        entries = arrivals(100, evenly=evenly)
        assert entries.sum() == pytest.approx(100 * ENTRIES)
        gpus, result = needed_gpus(entries, EXPENSIVE | {"wanted": wanted})
        assert result.public <= 60 * wanted["longest_wait_minutes"]
        assert result.private <= 3600 * wanted["final_hours"]
        less = waits(entries, gpus - 1, 4, private=16)
        too_busy = entries.sum() * 20 > (gpus - 1) * 3600 * len(entries)
        late = less.public > 60 * wanted["longest_wait_minutes"] or less.private > 3600 * wanted["final_hours"]
        assert too_busy or late


def test_needs_follow_the_operators_assumptions() -> None:
    def number(need: Mapping[str, str], row: str) -> float:
        return float(need[row].replace(",", ""))

    need = compute_needs(10, evenly=True, assumed=EXPENSIVE)
    small = compute_needs(10, evenly=True, assumed=EXPENSIVE | {"zip_megabytes": 1.0})
    assert number(small, "zips, TB") == pytest.approx(10 * ENTRIES * 1e6 / 1e12, abs=0.05)
    assert number(need, "database, GB") == pytest.approx(10 * ENTRIES * 10_000 / 1e9, abs=0.05)


def test_the_capacity_page_matches_the_assumptions() -> None:
    page = capacity.PAGE.read_text()
    assert page == rendered(page, capacity.parts()), "make scale RENDER=1"


# Whole runs


def test_a_small_competition_runs_with_late_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, look = itertools.count(), virtual.Channel.basic_get

    def find_nothing_at_first(self: virtual.Channel, queue: str, **options: bool) -> object:
        return look(self, queue, **options) if next(looks) % 2 else None  # type: ignore[no-untyped-call]

    monkeypatch.setattr(virtual.Channel, "basic_get", find_nothing_at_first)
    (case,) = parts.measure(parts.QUICK, tmp_path)
    run = case.numbers
    assert next(looks) >= 2 * 3 * 12, "each of the three jobs per entry finds nothing at first"
    assert run["accepted"] == 12
    assert run["refused_otherwise"] == 0
    assert run["given_up"] == 0
    assert sum(run[f"bin{place:02}_entries"] for place in range(24)) == 12
    alone = parts.SECONDS["check"] + parts.SECONDS["public"]
    assert run["wait_median"] == pytest.approx(alone, rel=0.01), "no entry waits for others"
    assert run["public_host_seconds"] == parts.SECONDS["public"], "the run records the configured times"
    assert 0 < run["processor_database"] < 5
    assert 0 < run["processor_opening"] < run["processor_web"], "three limited processes, counted four times"
    assert run["fairness_first_unfair"] == 0


def test_a_few_competitions_load_the_database() -> None:
    (case,) = thousand.measure(thousand.QUICK)
    assert case.numbers["entries_a_second"] >= 1
    assert case.numbers["record_median_ms"] > 0
    assert case.numbers["list_seconds"] > 0
