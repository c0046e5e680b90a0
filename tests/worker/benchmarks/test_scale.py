"""The benchmarks of scale: arrivals, workers that wait no real time, what is needed, and a small competition."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest
from kombu.transport import virtual

from benchmarks.gpu import roofline
from benchmarks.harness.isolation import Run
from benchmarks.harness.results import BenchmarkCase, BenchmarkResult
from benchmarks.scale import capacity_page, report, thousand
from benchmarks.scale.__main__ import HERE
from benchmarks.scale.arrivals import DAILY_LIMIT, DAY, ENTRIES, TEAMS, arrivals_of, entries_by_hour, moments_of_2019
from benchmarks.scale.capacity import EntryCosts, arrivals, need_of, needed_gpus, read_prices, waits
from benchmarks.scale.clocked_web import one_in
from benchmarks.scale.measured import run_of
from benchmarks.scale.messages import Messages
from benchmarks.scale.parts import PARTS, Part, play
from benchmarks.scale.service_times import JobSeconds, ServiceTimes, numbers_of, service_times, times_of
from benchmarks.scale.thousand import QUICK
from benchmarks.scale.worker_pools import busy_share, worker_pools
from scorer.lifecycle import Queue

TIMES = ServiceTimes(1, 1 / 8, JobSeconds(0, 4, 4), JobSeconds(0, 65, 130), JobSeconds(0, 113, 226))
COSTS = EntryCosts(public=4, private=16, host=20, evidence=300, web=0.05, database=0.05, database_bytes=10_000)


# Arrivals.


def test_every_team_hands_in_and_none_more_than_a_day_allows() -> None:
    plan = arrivals_of(TEAMS, ENTRIES, 60, 2019)
    assert plan == arrivals_of(TEAMS, ENTRIES, 60, 2019)
    assert len(plan) == ENTRIES
    assert {arrival.team for arrival in plan} == set(range(TEAMS))
    assert max(Counter((arrival.team, arrival.at // DAY) for arrival in plan).values()) == DAILY_LIMIT
    assert [arrival.at for arrival in plan] == sorted(arrival.at for arrival in plan)
    last_day = sum(arrival.at >= 59 * DAY for arrival in plan) / ENTRIES
    assert last_day == pytest.approx(np.mean(moments_of_2019() >= 59 / 60), abs=0.01)


def test_hours_have_the_shape_of_the_released_entries() -> None:
    hours = entries_by_hour()
    assert hours.sum() == pytest.approx(ENTRIES)
    assert hours[-24:].sum() / ENTRIES == pytest.approx(np.mean(moments_of_2019() >= 59 / 60), abs=0.002)


# Workers.


def test_processes_take_turns_on_a_gpu_and_the_host_goes_on_beside() -> None:
    times = ServiceTimes(2, 2.0, JobSeconds(0, 3, 3), JobSeconds(4, 2, 2), JobSeconds(10, 5, 5))
    checking, scoring = worker_pools(times, 1)
    assert len(checking.free) == 2
    first, second = scoring.free
    assert first.finish(times.public, 100.0) == 106.0
    assert second.finish(times.public, 101.0) == 110.0, "the GPU is free at 104"
    assert first.finish(times.public, 106.0) == 114.0
    assert busy_share(scoring.devices, 100.0, 120.0) == pytest.approx(12 / 20)
    assert busy_share(scoring.devices, 104.0, 106.0) == 1.0


def test_a_gpu_takes_as_long_as_its_page_says() -> None:
    times = service_times("gpu")
    told = re.search(r"What a GPU does for a submission takes ([\d.]+) s", roofline.PAGE.read_text())
    assert told is not None
    assert sum(times.busy_seconds.values()) == pytest.approx(float(told[1]), abs=0.05)
    assert times.processes == 2


# Messages.


class StubChannel:
    """A channel in which these looks find nothing or a message; later ones find nothing."""

    def __init__(self, looks: Sequence[bool]) -> None:
        self.looks = list(looks)

    def basic_get(self, queue: str, no_ack: bool = False) -> object | None:
        """What the next look finds."""
        assert (queue, no_ack) == ("score", True)
        return "message" if self.looks and self.looks.pop(0) else None


def test_a_message_that_comes_late_is_waited_for() -> None:
    messages = Messages(StubChannel([False, False, True]), send_again=lambda: pytest.fail("it was not lost"))
    messages.take(Queue.SCORE)
    assert messages.lost == 0


def test_a_message_that_is_lost_is_sent_again() -> None:
    channel = StubChannel([])
    messages = Messages(channel, send_again=lambda: channel.looks.append(True), seconds=0.01)
    messages.take(Queue.SCORE)
    assert messages.lost == 1
    assert channel.looks == [], "it was taken"


def test_nobody_waits_for_ever_for_a_message() -> None:
    messages = Messages(StubChannel([]), send_again=lambda: None, seconds=0.01)
    with pytest.raises(TimeoutError, match="score has no message"):
        messages.take(Queue.SCORE)


# Uploads.


def test_one_upload_of_several_has_a_limited_process() -> None:
    is_limited = one_in(4)
    assert [is_limited(None) for _ in range(9)] == [True, False, False, False, True, False, False, False, True]


# What is needed.


def test_the_model_of_rates_lets_public_scores_go_first() -> None:
    hour = np.array([1000.0, 0.0, 0.0, 0.0, 0.0])  # 4,000 s of public scores, 16,000 s of private ones
    result = waits(hour, 1, 4, 16)
    assert result.public == 400 + 4, "after an hour 400 s of them are left"
    assert result.private == 20_000 - 5 * 3600 + 16
    assert waits(hour, 10, 4, 16).public == 4


def test_gpus_keep_what_is_promised_and_one_less_does_not() -> None:
    wanted = read_prices().wanted
    for calendar in ("one day", "two months"):
        entries = arrivals(100, calendar)
        assert entries.sum() == pytest.approx(100 * ENTRIES)
        gpus, result = needed_gpus(entries, COSTS, replace(wanted, gpu_busy_share=1.0))
        assert result.public <= 60 * wanted.longest_wait_minutes
        assert result.private <= 3600 * wanted.final_hours
        less = waits(entries, gpus - 1, COSTS.public, COSTS.private)
        too_busy = entries.sum() * 20 > (gpus - 1) * 3600 * len(entries)
        assert too_busy or less.public > 60 * wanted.longest_wait_minutes or less.private > 3600 * wanted.final_hours


def test_needs_follow_the_operators_prices() -> None:
    prices = read_prices()
    need = need_of(10, "two months", COSTS, prices)
    dearer = need_of(10, "two months", COSTS, replace(prices, gpu_hour=2 * prices.gpu_hour, zip_megabytes=1.0))
    for name in ("GPUs, all the time", "GPUs, while they compute"):
        assert dearer.costs[name] == pytest.approx(2 * need.costs[name])
    assert dearer.costs["cores"] == need.costs["cores"]
    assert dearer.object_tb == pytest.approx(10 * ENTRIES * 1e6 / 1e12)
    assert need.database_gb == pytest.approx(10 * ENTRIES * COSTS.database_bytes / 1e9)


# The pages.


def test_the_pages_in_the_repository_are_those_of_the_stored_results() -> None:
    results = report.stored(HERE)
    assert (HERE / report.PAGE).read_text() == report.page(results, report.runs_of(results))
    assert (HERE / report.FIGURE).read_text() == report.figure_of(report.runs_of(results))
    assert capacity_page.PAGE.read_text() == capacity_page.page(results, read_prices())


def test_what_waits_when_a_play_begins_follows_from_its_workers() -> None:
    assert report.waiting_before(Part("cpu", 1), TIMES) == 0, "a whole one begins with nothing"
    assert report.waiting_before(Part("cpu", 64, played=0.25), TIMES) == 0
    one, four = (report.waiting_before(Part("cpu", workers, played=0.25), TIMES) for workers in (1, 4))
    assert one > 24 * 3600
    assert four == 0


def test_a_page_tells_the_times_that_its_plays_were_made_with() -> None:
    slower = replace(TIMES, public=JobSeconds(0, 70, 140))
    assert times_of(numbers_of(slower)) == slower
    runs = {Part("cpu", 1): played(60, 60, slower), Part("cpu", 4): played(60, 60) | {"accepted": 2.0}}
    page = report.page(named_results(runs), runs)
    assert "65 to 70 s for a public score, 113 s for a private one" in page
    assert "4.0 s for a check" in " ".join(page.split())
    assert "| one worker on two cores | 178.000 |" in page, "by the play with most entries"
    by_rates = next(line for line in page.splitlines() if "longest wait, by rates" in line)
    assert by_rates.endswith("| 1.1 |"), "65 s, and nobody waits for four workers"
    alone = {Part("cpu", 4): played(60, 60, slower)}
    assert "| longest wait, by rates | 1.2 |" in report.page(named_results(alone), alone)


def played(days: float, wait: float, times: ServiceTimes = TIMES) -> Run:
    """The numbers of a play that the pages need, with this longest wait in each hour."""
    run = dict.fromkeys(run_of(report.stored(HERE)["scale_cpu_1"]), 1.0)
    waited = {f"{name}{place:02}_longest": wait for name in ("bin", "hour") for place in range(24)}
    return run | waited | numbers_of(times) | {"seconds": days}


def test_parts_of_which_more_and_less_was_played_are_told_together() -> None:
    runs = {Part("cpu", 1, played=7.0): played(7, 6000), Part("cpu", 4, played=1.0): played(1, 600)}
    runs[Part("cpu", 16, played=1.0)] = played(1, 60)
    figure = report.figure_of(runs)
    for title in ("1 worker", "4 workers", "16 workers"):
        assert f"{title}: longest wait, minutes" in figure
    assert "the last day" not in figure, "it is all that the figure has"
    page = " ".join(report.page(named_results(runs), runs).split())
    told = "with 1 worker the last 7 days; with 4 workers and 16 workers the last day. Time was bounded. "
    assert told + "By rates (the fluid model below) nothing waits when these plays begin" in page
    assert 'SCALE="scale_cpu_1 scale_cpu_4 scale_cpu_16"' in page
    short = {Part("cpu", 1, played=1.0): played(1, 6000)}
    assert "What waited from before is left out" in " ".join(report.page(named_results(short), short).split())


def test_whole_plays_have_a_figure_and_a_table_of_all_days() -> None:
    runs = {Part("cpu", 1): played(60, 60), Part("cpu", 4): played(60, 90)}
    assert "the last day" in report.figure_of(runs)
    page = report.page(named_results(runs), runs)
    assert "| 60.0 to 43.7 days before the close | 1 | 0.0, 1.0 | 0.0, 1.5 |" in page
    last = {Part("cpu", 1, played=1.0): played(1, 60)}
    assert "days before the close" not in report.page(named_results(last), last)


def test_the_page_names_the_parts_that_nobody_has_played() -> None:
    runs = {part: played(60, 60) for part in PARTS}
    assert "not played yet" not in report.page(named_results(runs), runs)
    del runs[PARTS[-1]]
    assert 'the one with 1 GPU (`make scale SCALE="scale_gpu_1"`)' in report.page(named_results(runs), runs)


def named_results(runs: Mapping[Part, Run]) -> dict[str, BenchmarkResult]:
    """The runs as results of one machine."""
    machine = report.stored(HERE)["scale_cpu_1"].machine
    return {
        part.name: BenchmarkResult(part.name, machine, [BenchmarkCase(part.kind, dict(vars(part)), {"Kennel": [run]})])
        for part, run in runs.items()
    }


# Everything.


def test_a_small_competition_is_played_whose_messages_come_late(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, look = itertools.count(), virtual.Channel.basic_get

    def look_in_vain_at_first(self: virtual.Channel, queue: str, **options: bool) -> object:
        return look(self, queue, **options) if next(looks) % 2 else None  # type: ignore[no-untyped-call]

    monkeypatch.setattr(virtual.Channel, "basic_get", look_in_vain_at_first)
    (case,) = play(Part("gpu", 1, teams=4, entries=12, days=2.0, played=2.0, limited_every=4, limit_seconds=240))
    (run,) = case.runs["Kennel"]
    assert next(looks) >= 2 * 3 * 12, "each of three jobs an entry has a first look in vain"
    assert run["accepted"] == 12
    assert run["lost_messages"] == 0
    assert run["refused_otherwise"] == 0
    assert run["given_up"] == 0
    assert sum(run[f"bin{place:02}_entries"] for place in range(24)) == 12
    times = service_times("gpu")
    assert times_of(run) == times, "it keeps the times that it was made with"
    alone = times.check.host + times.public.gpu + times.public.host
    assert run["wait_median"] == pytest.approx(alone, rel=0.01), "nobody waits for others"
    assert 0 < run["processor_database"] < 5
    assert 0 < run["processor_opening"] < run["processor_web"], "three limited processes, counted four times"
    assert run["fairness_first_unfair"] == 0


def test_a_few_competitions_load_the_database() -> None:
    (case,) = thousand.measure(QUICK)
    (run,) = case.runs["Kennel"]
    assert run["entries_a_second"] >= 1
    assert run["record_median_ms"] > 0
    assert run["list_seconds"] > 0
