"""Expected waiting times: the formula against a simulated queue."""

import heapq
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from scorer.db.submissions.waiting_times import Arrival, ScorePlan
from scorer.db.tables import Job
from scorer.lifecycle import JobState, Queue
from scorer.submissions.waiting_times import QueueState, WaitingTimes

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)


def compute_starts(free_in: Sequence[float], seconds: float, jobs: int) -> list[float]:
    """The start of each waiting job if each takes the first free worker."""
    free = list(free_in)
    heapq.heapify(free)
    starts = []
    for _ in range(jobs):
        starts.append(heapq.heappop(free))
        heapq.heappush(free, starts[-1] + seconds)
    return starts


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_a_job_begins_when_its_worker_becomes_free(workers: int) -> None:
    source = random.Random(workers)
    free_in = sorted(source.uniform(0, 10) for _ in range(workers))
    state = QueueState(free_in, 10.0, {0: 30}, [])
    expected = compute_starts(free_in, 10.0, 30)
    assert [state.seconds_until_start(position) for position in range(1, 31)] == pytest.approx(expected)


def queue_with_arrivals(turn: int, every: float) -> QueueState:
    """A queue with one worker and jobs of 10 s: ten jobs of turn 0 and one of turn 1 wait. The newest eleven jobs
    arrived ``every`` seconds apart, all for ``turn``."""
    arrivals = [Arrival(turn, NOW - timedelta(seconds=every * number)) for number in range(11)]
    return QueueState([0.0], 10.0, {0: 10, 1: 1}, arrivals)


def compute_seconds(state: QueueState, turn: int, closes_in: float | None = None) -> float:
    """Seconds until the job at position 11 begins."""
    closes_at = NOW + timedelta(seconds=closes_in) if closes_in is not None else None
    return state.seconds_in_turn(11, turn, now=NOW, closes_at=closes_at)


def test_new_jobs_of_an_earlier_turn_go_before_a_teams_second() -> None:
    """A new job of 10 s every 20 s takes half of the worker's time, so the wait doubles from 100 s to 200 s."""
    state = queue_with_arrivals(0, 20.0)
    assert compute_seconds(state, 1) == pytest.approx(200, rel=0.15)
    assert compute_seconds(state, 0) == 100, "new jobs join the current turn at its end"
    assert compute_seconds(queue_with_arrivals(1, 20.0), 1) == 100, "new jobs of its own turn come after it"


@pytest.mark.parametrize(("closes_in", "expected"), [(60, 100 + 3 * 10), (0, 100), (-60, 100)])
def test_nothing_arrives_after_the_close(closes_in: float, expected: float) -> None:
    assert compute_seconds(queue_with_arrivals(0, 20.0), 1, closes_in) == pytest.approx(expected, abs=10)


def test_an_overloaded_queue_makes_a_second_entry_wait_for_the_close() -> None:
    assert compute_seconds(queue_with_arrivals(0, 5.0), 1, 300) == pytest.approx(100 + 300 / 5 * 10, rel=0.15)


def test_without_recent_arrivals_only_waiting_jobs_count() -> None:
    assert compute_seconds(QueueState([0.0], 10.0, {0: 10, 1: 1}, []), 1) == 100


@pytest.mark.parametrize("ago", [0, 0.01, 5])
def test_a_few_entries_give_no_rate(ago: float) -> None:
    """One entry from a moment ago would mean a hundred per second, and decades of waiting for a second entry."""
    few = [Arrival(0, NOW - timedelta(seconds=ago))] * 3
    assert compute_seconds(QueueState([0.0], 10.0, {0: 10, 1: 1}, few), 1, 10 * 365 * 86400) == 100


def test_simultaneous_arrivals_are_expected_for_at_most_a_day() -> None:
    """Eleven jobs of 10 s count as arrivals over 10 s. At this rate, 95,040 jobs come first in a day."""
    simultaneous = [Arrival(0, NOW)] * 11
    state = QueueState([0.0], 10.0, {0: 11, 1: 1}, simultaneous)
    assert compute_seconds(state, 1, 10 * 365 * 86400) == pytest.approx(100 + 86400 / 10 * 11 * 10)
    assert compute_seconds(state, 1, 60) == pytest.approx(100 + 60 / 10 * 11 * 10)


@pytest.mark.parametrize(("turn", "expected"), [(0, 100), (1, 200)])
def test_a_second_entry_also_waits_for_its_turn_in_the_check_queue(turn: int, expected: float) -> None:
    """The check and the score take 10 s each. Nothing waits in the score queue."""
    job = Job(id=5, queue=Queue.CHECK, state=JobState.WAITING, turn=turn, submission_ref=7)
    times = WaitingTimes(
        now=NOW,
        usual={(Queue.CHECK, None): 10.0, (Queue.SCORE, 1): 10.0},
        states={Queue.CHECK: queue_with_arrivals(0, 20.0), Queue.SCORE: QueueState([0.0], 10.0, {}, [])},
        positions={5: 11},
        plans={7: ScorePlan(7, 1, None, is_drawn=False)},
        own_turns={},
    )
    assert times.seconds_until_score(job) == pytest.approx(expected + 10 + 10, rel=0.15)
