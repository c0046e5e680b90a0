"""SQL for the expected waiting times of submissions: the waiting and running jobs of a queue, and usual durations.

All queries are about public jobs only, because estimates would otherwise reveal private ones.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import extract, func, or_, select
from sqlalchemy.orm import Session

from scorer.db.tables import Competition, Job, Submission, Track
from scorer.lifecycle import UNFINISHED, JobState, Queue

RECENT_JOBS = 20
"""The number of finished jobs used for the median duration, which estimates that of the next job."""
RECENT_ARRIVALS = 20
"""The number of newest waiting jobs of a queue used to estimate the rate of arrivals."""
WORKER_SEEN_WITHIN = timedelta(minutes=15)
"""A worker that has finished a public job within this time counts as active."""


class WaitingJobs(NamedTuple):
    """How many jobs of a queue wait for the same track in the same turn."""

    queue: str
    track_id: int | None
    turn: int
    number: int


class RunningJob(NamedTuple):
    queue: str
    track_id: int | None
    started_at: datetime | None
    worker: str | None


class Arrival(NamedTuple):
    turn: int
    created_at: datetime


class ScorePlan(NamedTuple):
    """The track of a submission's public score, when its competition closes, and whether its images are drawn."""

    ref: int
    track_id: int
    closes_at: datetime | None
    is_drawn: bool


def usual_seconds(session: Session, queue: str, track_id: int | None) -> float | None:
    """The median duration of the newest public jobs (on a track, if given); None if there are none."""
    recent = (
        select((extract("epoch", Job.finished_at) - extract("epoch", Job.started_at)).label("seconds"))
        .where(
            Job.queue == queue,
            Job.track_id == track_id,  # IS NULL for None, because no index supports IS NOT DISTINCT FROM
            Job.state == JobState.DONE,
            Job.priority == 0,
        )
        .order_by(Job.finished_at.desc())
        .limit(RECENT_JOBS)
        .subquery()
    )
    median = session.scalar(select(func.percentile_cont(0.5).within_group(recent.c.seconds)))
    return None if median is None else float(median)


def active_workers(session: Session, now: datetime) -> dict[Queue, set[str]]:
    busy = (Job.state == JobState.RUNNING) & (Job.lease_until > func.now())
    public = (Job.priority == 0) & or_(busy, Job.finished_at > now - WORKER_SEEN_WITHIN)
    workers: dict[Queue, set[str]] = defaultdict(set)
    for queue, worker in session.execute(
        select(Job.queue, Job.worker).where(public, Job.worker.is_not(None)).distinct()
    ):
        workers[Queue(queue)].add(str(worker))
    return workers


def waiting_jobs(session: Session) -> list[WaitingJobs]:
    rows = session.execute(
        select(Job.queue, Job.track_id, Job.turn, func.count())
        .where(Job.state == JobState.WAITING, Job.priority == 0)
        .group_by(Job.queue, Job.track_id, Job.turn)
    )
    return [WaitingJobs(*row) for row in rows]


def running_jobs(session: Session) -> list[RunningJob]:
    rows = session.execute(
        select(Job.queue, Job.track_id, Job.started_at, Job.worker).where(
            Job.state == JobState.RUNNING, Job.lease_until > func.now(), Job.priority == 0
        )
    )
    return [RunningJob(*row) for row in rows]


def newest_waiting(session: Session, queue: Queue) -> list[Arrival]:
    rows = session.execute(
        select(Job.turn, Job.created_at)
        .where(Job.queue == queue, Job.state == JobState.WAITING, Job.priority == 0)
        .order_by(Job.id.desc())
        .limit(RECENT_ARRIVALS)
    )
    return [Arrival(*row) for row in rows]


def score_plans(session: Session, refs: Collection[int]) -> Sequence[ScorePlan]:
    rows = session.execute(
        select(Submission.ref, Track.id, Competition.closes_at, Competition.entries == "generator")
        .join(Competition, Competition.id == Submission.competition_id)
        .join(Track, (Track.competition_id == Competition.id) & (Track.kind == "public"))
        .where(Submission.ref.in_(refs))
    )
    return [ScorePlan(*row) for row in rows]


def next_own_turns(session: Session, queue: Queue, teams: Collection[int]) -> Mapping[int, int]:
    """The turn after those of a team's public jobs in a queue, by team, counted as in
    :func:`scorer.db.jobs.job_queue.next_turn`. Teams without jobs are missing."""
    public = (Job.queue == queue) & (Job.priority == 0)
    longest = select(func.min(Job.created_at)).where(public, Job.state == JobState.WAITING).scalar_subquery()
    rows = session.execute(
        select(Job.team_id, func.max(Job.turn) + 1)
        .where(public, Job.team_id.in_(teams))
        .where(or_(Job.state.in_(UNFINISHED), Job.started_at > longest))
        .group_by(Job.team_id)
    )
    return {team: turn for team, turn in rows if team is not None}
