"""Expected waiting times: seconds until the public scores of unfinished submissions.

Workers take a queue's waiting jobs in a fair order: the job at position p gets the p-th worker that becomes free. A
team's further entries wait for later turns, so new entries of other teams come before them. The rate of the newest
arrivals predicts their number until the competition closes.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.db.jobs import job_queue
from scorer.db.submissions import waiting_times as rows
from scorer.db.submissions.waiting_times import Arrival, RunningJob, ScorePlan, WaitingJobs
from scorer.db.tables import Job
from scorer.lifecycle import JobState, Queue

QUOTA_PERIOD = timedelta(days=1)
"""The longest time for which arrivals are predicted: after a day all teams have used their daily limit."""
MIN_ARRIVALS = 10
"""The fewest arrivals for a rate. With one, an entry from a moment ago would mean a hundred a second."""
UsualSeconds = Mapping[tuple[str, int | None], float | None]
"""The usual seconds of a public job, by queue and track; None before the first has finished."""


@dataclass(frozen=True)
class QueueState:
    """The public jobs of a queue at one moment, and its workers, which may be busy with jobs of other queues."""

    free_in: Sequence[float]
    """Seconds until each active worker is free, ascending."""
    mean_seconds: float
    """The mean usual duration of the waiting jobs."""
    waiting: Mapping[int, int]
    """The number of waiting jobs, by turn."""
    arrivals: Sequence[Arrival]
    """The newest waiting jobs, newest first."""

    def seconds_until_start(self, position: int) -> float:
        """Return the seconds until the job at a position (from 1) begins if no new job comes before it."""
        rounds, worker = divmod(position - 1, len(self.free_in))
        return self.free_in[worker] + rounds * self.mean_seconds

    def seconds_in_turn(self, position: int, turn: int, *, now: datetime, closes_at: datetime | None) -> float:
        """Return the seconds until the job at a position begins, with the expected new jobs of earlier turns.

        They arrive while the job waits, but not after ``closes_at``.
        """
        alone = self.seconds_until_start(position)
        rate = self._rate_before(turn, now)
        open_for = min(QUOTA_PERIOD, closes_at - now) if closes_at is not None else QUOTA_PERIOD
        until_close = max(timedelta(), open_for).total_seconds()
        share = rate * self.mean_seconds / len(self.free_in)
        grows_for = min(until_close, alone / (1 - share)) if share < 1 else until_close
        return self.seconds_until_start(position + round(rate * grows_for))

    def _rate_before(self, turn: int, now: datetime) -> float:
        """Return the new jobs per second of turns before ``turn``. 0 for the current turn: new jobs join at its end.

        Jobs that arrive at the same moment, for example from one program, count over the duration of one job.
        """
        if len(self.arrivals) < MIN_ARRIVALS or turn <= min(self.waiting, default=turn):
            return 0.0
        seconds = max((now - self.arrivals[-1].created_at).total_seconds(), self.mean_seconds)
        return sum(arrival.turn < turn for arrival in self.arrivals) / seconds if seconds > 0 else 0.0

    def count_until(self, turn: int) -> int:
        """Count the waiting jobs before a new job of this turn."""
        return sum(count for waiting, count in self.waiting.items() if waiting <= turn)


@dataclass(frozen=True)
class WaitingTimes:
    """Queue positions and expected waiting times of the public jobs of submissions at one moment."""

    now: datetime
    usual: UsualSeconds
    states: Mapping[str, QueueState]
    """By queue. Queues without an active worker or a usual duration are missing."""
    positions: Mapping[int, int]
    """Queue positions of waiting jobs, by id."""
    plans: Mapping[int, ScorePlan]
    own_turns: Mapping[int, int]

    def seconds_until_score(self, job: Job) -> int | None:
        """Return the whole seconds until the public score of an unfinished public job's submission; None if unknown."""
        plan = self.plans.get(job.submission_ref or 0)
        usual = self.usual.get((Queue.SCORE, plan.track_id)) if plan is not None else None
        if plan is None or usual is None:
            return None
        if job.queue == Queue.SCORE:
            begins = self._seconds_until_score_begins(job, plan)
            return None if begins is None else max(0, math.ceil(begins + usual))
        ready = self._seconds_until_ready(job, plan)
        state = self.states.get(Queue.SCORE)
        if ready is None or state is None:
            return None
        turn = max(self.own_turns.get(job.team_id or 0, 0), min(state.waiting, default=0))
        position = state.count_until(turn) + self.positions.get(job.id, 1)
        begins = state.seconds_in_turn(position, turn, now=self.now, closes_at=plan.closes_at)
        return math.ceil(max(ready, begins) + usual)

    def _seconds_until_score_begins(self, job: Job, plan: ScorePlan) -> float | None:
        """Return the seconds until the scoring of a submission begins; negative if it has begun."""
        if job.state == JobState.RUNNING:
            return None if job.started_at is None else (job.started_at - self.now).total_seconds()
        state, position = self.states.get(Queue.SCORE), self.positions.get(job.id)
        if state is None or position is None:
            return None
        return state.seconds_in_turn(position, job.turn, now=self.now, closes_at=plan.closes_at)

    def _seconds_until_ready(self, job: Job, plan: ScorePlan) -> float | None:
        """Return the seconds until an entry is checked and, if it is a generator, its images are drawn."""
        drawing = self.usual.get((Queue.DRAW, plan.track_id)) if plan.is_drawn else 0.0
        usual = self.usual.get((job.queue, job.track_id))
        if usual is None or drawing is None:
            return None
        following = drawing if job.queue == Queue.CHECK else 0.0
        if job.state == JobState.RUNNING:
            return _seconds_left(job.started_at, usual, self.now) + following
        state, position = self.states.get(job.queue), self.positions.get(job.id)
        if state is None or position is None:
            return None
        return state.seconds_in_turn(position, job.turn, now=self.now, closes_at=plan.closes_at) + usual + following


def read_waiting_times(session: Session, jobs: Sequence[Job], *, now: datetime) -> WaitingTimes:
    """Read the data for estimates of these public jobs. The number of queries grows only with the tracks in use."""
    plans = {plan.ref: plan for plan in rows.score_plans(session, [job.submission_ref or 0 for job in jobs])}
    waiting, running = rows.waiting_jobs(session), rows.running_jobs(session)
    kinds: set[tuple[str, int | None]] = {(Queue.SCORE, plan.track_id) for plan in plans.values()}
    kinds |= {(Queue.DRAW, plan.track_id) for plan in plans.values() if plan.is_drawn}
    kinds |= {(counted.queue, counted.track_id) for counted in waiting} | {(job.queue, job.track_id) for job in running}
    usual = {kind: rows.usual_seconds(session, *kind) for kind in kinds}
    workers = rows.active_workers(session, now)
    queues = {job.queue for job in jobs} | {Queue.SCORE}
    unready_teams = {job.team_id for job in jobs if job.queue != Queue.SCORE and job.team_id is not None}
    states = {
        queue: _queue_state(
            queue,
            [counted for counted in waiting if counted.queue == queue],
            [job for job in running if job.worker in workers.get(Queue(queue), ())],
            usual=usual,
            workers=len(workers.get(Queue(queue), ())),
            arrivals=rows.newest_waiting(session, Queue(queue)),
            now=now,
        )
        for queue in queues
    }
    return WaitingTimes(
        now=now,
        usual=usual,
        states={queue: state for queue, state in states.items() if state is not None},
        positions=job_queue.load_positions(session, [job.id for job in jobs if job.state == JobState.WAITING]),
        plans=plans,
        own_turns=rows.next_own_turns(session, Queue.SCORE, unready_teams) if unready_teams else {},
    )


def _queue_state(
    queue: str,
    waiting: Sequence[WaitingJobs],
    running: Sequence[RunningJob],
    *,
    usual: UsualSeconds,
    workers: int,
    arrivals: Sequence[Arrival],
    now: datetime,
) -> QueueState | None:
    mean = _mean_seconds(queue, waiting, usual)
    if mean is None or workers == 0:
        return None
    turns: Counter[int] = Counter()
    for jobs in waiting:
        turns[jobs.turn] += jobs.number

    def seconds_left(job: RunningJob) -> float:
        expected = usual[job.queue, job.track_id] or (mean if job.queue == queue else None)
        return _seconds_left(job.started_at, expected, now)

    busy = sorted(seconds_left(job) for job in running)
    idle = [0.0] * (workers - len(busy))
    return QueueState([*idle, *busy], mean, turns, arrivals)


def _mean_seconds(queue: str, waiting: Sequence[WaitingJobs], usual: UsualSeconds) -> float | None:
    """The mean over a queue's waiting jobs; without any, over its known tracks."""
    known = {track: seconds for (of, track), seconds in usual.items() if of == queue and seconds is not None}
    weights = Counter(dict.fromkeys(known, 0))
    for jobs in waiting:
        if jobs.track_id in known:
            weights[jobs.track_id] += jobs.number
    if not known:
        return None
    if not weights.total():
        return sum(known.values()) / len(known)
    return sum(known[track] * weight for track, weight in weights.items()) / weights.total()


def _seconds_left(started_at: datetime | None, usual: float | None, now: datetime) -> float:
    """Return the seconds until a running job ends. A job of unknown duration is expected to take as long again."""
    elapsed = (now - started_at).total_seconds() if started_at is not None else 0.0
    return elapsed if usual is None else max(0.0, usual - elapsed)
