"""Waiting times as they are read from the database."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from scorer.db.tables import Job
from scorer.lifecycle import JobState, Queue
from scorer.submissions.waiting_times import read_waiting_times
from tests.db.claimed_jobs import queued
from tests.factories import make_competition, make_team


def add_job(session: Session, queue: Queue, now: datetime, **values: Any) -> None:
    """A public job of the worker ``w``."""
    session.add(Job(queue=queue, worker="w", priority=0, turn=0, due_at=now, attempts=1, created_at=now, **values))


@pytest.mark.parametrize(("with_history", "left"), [(True, 140), (False, 40)])
def test_a_worker_is_busy_with_a_job_of_another_queue(
    session: Session, now: datetime, with_history: bool, left: float
) -> None:
    """It has run for 40 s. Such jobs take 3 minutes; one of an unknown duration is expected to take as long again."""
    state = make_competition(session, now)
    waiting = queued(session, state, make_team(session, state, now), now)
    done: dict[str, Any] = {"state": JobState.DONE, "started_at": now - timedelta(minutes=9)}
    done["finished_at"] = now - timedelta(minutes=6)
    add_job(session, Queue.SCORE, now, track_id=state.tracks["public"].id, **done)
    if with_history:
        add_job(session, Queue.PREPARE, now, **done)
    lease = now + timedelta(days=9000)
    started = now - timedelta(seconds=40)
    add_job(session, Queue.PREPARE, now, state=JobState.RUNNING, holder="h", started_at=started, lease_until=lease)
    session.flush()
    (job,) = session.query(Job).filter_by(submission_ref=waiting.ref, queue=Queue.SCORE)
    times = read_waiting_times(session, [job], now=now)
    (free_in,) = times.states[Queue.SCORE].free_in
    assert free_in == pytest.approx(left)
