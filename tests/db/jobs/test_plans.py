"""Plans of the queue's statements: none reads the finished jobs, because their number only grows."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from scorer.db.jobs import failed_jobs, job_queue
from scorer.db.submissions import events, waiting_times
from scorer.db.tables import Job, Submission
from scorer.jobs import leases
from scorer.lifecycle import Queue
from tests.factories import make_competition, make_submission, make_team
from tests.sql_statements import explained_statements, whole_reads

FINISHED = 20_000
LEASE = timedelta(seconds=30)


@pytest.fixture
def submission(session: Session, now: datetime) -> Submission:
    """An entry that waits for its check after a long history of other entries."""
    state = make_competition(session, now)
    team = make_team(session, state, now)
    entries = [make_submission(session, state, team, now=now, status="scored") for _ in range(20)]
    job = {
        "queue": "score",
        "track_id": state.tracks["public"].id,
        "team_id": team.id,
        "state": "done",
        "priority": 0,
        "due_at": now,
        "attempts": 1,
        "created_at": now,
        "finished_at": now,
    }
    rows = [job | {"turn": turn, "submission_ref": entries[turn % 20].ref} for turn in range(FINISHED)]
    session.execute(insert(Job), rows)
    submission = make_submission(session, state, team, now=now, status="received")
    leases.add_job(session, Queue.CHECK, submission=submission, now=now)
    session.flush()
    session.execute(text("ANALYZE jobs"))
    return submission


STATEMENTS: dict[str, Callable[[Session, Submission, datetime], object]] = {
    "claim": lambda session, _, now: leases.claim_job(
        session, Queue.SCORE, holder="h", worker="w", now=now, lease=LEASE
    ),
    "turn": lambda session, submission, _: job_queue.next_turn(session, Queue.SCORE, 0, team_id=submission.team_id),
    "lock": lambda session, submission, _: job_queue.lock_unfinished(session, submission.ref),
    "cancel": lambda session, submission, now: job_queue.cancel_jobs(session, now, submission_ref=submission.ref),
    "expired": lambda session, *_: job_queue.lock_expired(session),
    "due": lambda session, *_: job_queue.count_due(session),
    "preemption": lambda session, *_: job_queue.waits_longer(session, Queue.SCORE, LEASE),
    "position": lambda session, submission, _: job_queue.load_position(
        session, job_queue.load_jobs(session, submission.ref)[0]
    ),
    "positions": lambda session, *_: job_queue.load_positions(session, [1]),
    "cancel on a track": lambda session, _, now: job_queue.cancel_jobs(session, now, track_id=1),
    "of a preparation": lambda session, *_: job_queue.newest_job(session, preparation_id=1),
    "public jobs": lambda session, submission, _: events.public_jobs(session, [submission.ref]),
    "usual seconds": lambda session, *_: waiting_times.usual_seconds(session, Queue.SCORE, 1),
    "usual seconds of checks": lambda session, *_: waiting_times.usual_seconds(session, Queue.CHECK, None),
    "workers": lambda session, _, now: waiting_times.active_workers(session, now),
    "waiting": lambda session, *_: waiting_times.waiting_jobs(session),
    "held": lambda session, *_: waiting_times.running_jobs(session),
    "arrivals": lambda session, *_: waiting_times.newest_waiting(session, Queue.SCORE),
    "own turns": lambda session, submission, _: waiting_times.next_own_turns(
        session, Queue.SCORE, [submission.team_id]
    ),
    "progress on a track": lambda session, *_: job_queue.load_progress(session, job_queue.SCORING, track_id=1),
    "progress of a campaign": lambda session, *_: job_queue.load_progress(session, campaign_id=1),
    "progress of a shown track": lambda session, *_: job_queue.load_progress(session, shown_track_id=1),
    "load": lambda session, *_: failed_jobs.queues(session),
    "running": lambda session, *_: failed_jobs.running(session),
    "failed": lambda session, *_: failed_jobs.failed(session),
}


@pytest.fixture
def plans(session: Session) -> Iterator[list[str]]:
    """The plan of each statement that the session executes."""
    with explained_statements(session) as plans:
        yield plans


def test_no_statement_of_the_queue_reads_finished_jobs(
    session: Session, submission: Submission, plans: list[str], now: datetime
) -> None:
    reading: list[tuple[str, str]] = []
    for name, execute in STATEMENTS.items():
        plans.clear()
        with session.begin_nested() as savepoint:
            execute(session, submission, now)
            savepoint.rollback()
        assert plans, name
        reading += [(name, plan) for plan in plans if "Seq Scan on jobs" in plan]
    assert not reading


def test_queries_without_an_index_read_the_whole_table_in_any_order(session: Session) -> None:
    connection = session.connection()
    for condition, expected in (("subject = 'x'", {"mails"}), ("lower(recipient) = 'x'", set())):
        for order in ("", "ORDER BY id", "ORDER BY created_at"):
            statement = f"SELECT id FROM mails WHERE {condition} {order}"
            assert whole_reads(connection, statement, None) == expected, statement
    assert whole_reads(connection, "SELECT id FROM mails ORDER BY id LIMIT 1", None) == set()
