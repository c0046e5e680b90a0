"""Submission events: every step in order, queue positions and waiting times, and no trace of the private track."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.jobs import job_queue
from scorer.db.tables import Delivery, Job, Mail, Notice, Submission, SubmissionEvent
from scorer.jobs import leases, retries, sweeps
from scorer.lifecycle import JobState, Queue, TrackKind
from scorer.submissions import outcomes, progress
from scorer.submissions.progress import StatusSnapshot, SubmissionProgress
from scorer.submissions.waiting_times import read_waiting_times
from tests.db.claimed_jobs import LEASE, MEASURED, claim, queued, received
from tests.factories import let_time_pass, make_competition, make_team

STORY = ["received", "checking", "queued", "scoring", "queued", "scoring", "scored"]


@pytest.fixture
def state(session: Session, now: datetime) -> CompetitionState:
    return make_competition(session, now)


def snapshot_of(session: Session, submission: Submission, now: datetime, after: int = 0) -> StatusSnapshot:
    return progress.status_snapshots(session, {submission.ref: after}, now=now)[submission.ref]


def scored_after_a_lost_worker(session: Session, state: CompetitionState, now: datetime) -> Submission:
    """A submission scored at the second attempt, after the first worker vanished."""
    submission = queued(session, state, make_team(session, state, now), now)
    assert claim(session, now, "first")
    later = now + LEASE + timedelta(seconds=1)
    let_time_pass(session, LEASE + timedelta(seconds=1))
    sweeps.free_expired(session, now=later, max_attempts=3)
    second = claim(session, later, "second")
    assert second
    assert outcomes.record_measurement(session, second, MEASURED, now=later)
    session.flush()
    return submission


def done(
    session: Session,
    state: CompetitionState,
    *,
    seconds: float,
    ended: datetime,
    kind: TrackKind = "public",
    worker: str,
    queue: Queue = Queue.SCORE,
) -> None:
    """Add a finished score or check."""
    session.add(
        Job(
            queue=queue,
            track_id=state.tracks[kind].id if queue == Queue.SCORE else None,
            state="done",
            priority=int(kind == "private"),
            turn=0,
            due_at=ended,
            attempts=1,
            worker=worker,
            created_at=ended,
            started_at=ended - timedelta(seconds=seconds),
            finished_at=ended,
        )
    )
    session.flush()


def test_every_step_is_an_event_in_order_once(session: Session, state: CompetitionState, now: datetime) -> None:
    submission = scored_after_a_lost_worker(session, state, now)
    steps = snapshot_of(session, submission, now).steps
    assert [step.status for step in steps] == STORY
    assert [step.is_last for step in steps] == [False] * 6 + [True]
    for number, step in enumerate(steps):
        assert snapshot_of(session, submission, now, after=step.id).steps == steps[number + 1 :]


def test_one_query_reads_many_submissions_from_different_steps(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    first, second = (queued(session, state, make_team(session, state, now), now) for _ in range(2))
    newest = snapshot_of(session, first, now).steps[-1].id
    snapshots = progress.status_snapshots(session, {first.ref: newest, second.ref: 0}, now=now)
    assert snapshots[first.ref].steps == ()
    assert [step.status for step in snapshots[second.ref].steps] == STORY[:3]
    assert (snapshots[first.ref].progress.queue_position, snapshots[second.ref].progress.queue_position) == (1, 2)


def test_a_refused_step_leaves_no_trace(session: Session, state: CompetitionState, now: datetime) -> None:
    submission = scored_after_a_lost_worker(session, state, now)
    held = claim(session, now + timedelta(hours=1))
    assert held
    assert not held.public
    retries.fail(session, held, error="no", reason="private", now=now)
    assert [step.status for step in snapshot_of(session, submission, now).steps] == STORY


def test_the_last_event_has_the_reason(session: Session, state: CompetitionState, now: datetime) -> None:
    submission = received(session, state, make_team(session, state, now), now)
    held = claim(session, now, queue=Queue.CHECK)
    assert held
    retries.fail(session, held, error="internal details", reason="Because.", now=now)
    session.refresh(submission)
    assert (snapshot_of(session, submission, now).steps[-1].status, submission.reason) == ("failed", "Because.")
    assert snapshot_of(session, submission, now).steps[-1].reason == "Because."


def test_nothing_of_the_private_track_is_an_event(session: Session, state: CompetitionState, now: datetime) -> None:
    submission = scored_after_a_lost_worker(session, state, now)
    before = snapshot_of(session, submission, now)
    held = claim(session, now + timedelta(hours=1))
    assert held
    assert not held.public
    assert job_queue.renew_lease(session, held.job.id, held.holder, stage="features", fraction=0.4, lease=LEASE)
    assert snapshot_of(session, submission, now) == before
    assert before.progress == SubmissionProgress()
    assert outcomes.record_measurement(session, held, MEASURED, now=now)
    assert snapshot_of(session, submission, now) == before


def test_the_end_of_private_jobs_is_sent_to_nobody(session: Session, state: CompetitionState, now: datetime) -> None:
    for ends_well in (True, False):
        scored_after_a_lost_worker(session, state, now)
        held = claim(session, now + timedelta(hours=1))
        assert held
        assert not held.public
        session.flush()
        before = [session.query(table).count() for table in (Notice, Mail, Delivery, SubmissionEvent)]
        if ends_well:
            assert outcomes.record_measurement(session, held, MEASURED, now=now)
        else:
            retries.fail(session, held, error="no", reason="private", now=now)
        session.flush()
        assert before == [session.query(table).count() for table in (Notice, Mail, Delivery, SubmissionEvent)]


def test_a_job_of_a_scored_entry_is_no_event(session: Session, state: CompetitionState, now: datetime) -> None:
    submission = scored_after_a_lost_worker(session, state, now)
    leases.add_job(session, Queue.SCORE, submission=submission, track_id=state.tracks["public"].id, now=now)
    session.flush()
    newest = snapshot_of(session, submission, now).steps[-1].id
    assert snapshot_of(session, submission, now) == StatusSnapshot(
        snapshot_of(session, submission, now).steps, SubmissionProgress()
    )
    assert snapshot_of(session, submission, now, after=newest).steps == ()


def test_the_place_in_the_queue_is_the_order_of_claims(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    teams = [make_team(session, state, now) for _ in range(3)]
    entries = [queued(session, state, team, now) for team in teams for _ in range(3)]
    waiting = [job for entry in entries for job in job_queue.load_jobs(session, entry.ref) if job.state == "waiting"]
    assert job_queue.load_positions(session, [job.id for job in waiting]) == {
        job.id: job_queue.load_position(session, job) for job in waiting
    }
    positions = {entry.ref: snapshot_of(session, entry, now).progress.queue_position for entry in entries}
    claimed = []
    while (held := claim(session, now)) is not None:
        claimed.append(held.job.submission_ref)
    assert [positions[ref or 0] for ref in claimed] == list(range(1, 10))


def test_the_estimate_is_from_recent_public_scores_of_the_track(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    for number in range(5):
        done(session, state, seconds=1000, ended=now - timedelta(days=2, seconds=number), worker="old")
    for number in range(20):
        seconds = 10 if number < 11 else 30
        done(session, state, seconds=seconds, ended=now - timedelta(hours=1, seconds=number), worker="old")
    other = make_competition(session, now)
    for number in range(20):
        done(session, state, kind="private", seconds=500, ended=now - timedelta(minutes=30), worker="old")
        done(session, other, seconds=700, ended=now - timedelta(minutes=30, seconds=number), worker="old")
    entries = [queued(session, state, make_team(session, state, now), now) for _ in range(5)]
    assert snapshot_of(session, entries[2], now).progress == SubmissionProgress(queue_position=3, estimate_seconds=None)
    assert snapshot_of(session, entries[2], now).progress.estimate_seconds is None, "no worker is active"
    for worker in ("one", "two"):
        assert leases.claim_job(session, Queue.SCORE, holder=worker, worker=worker, now=now, lease=LEASE)
    seen = [snapshot_of(session, entry, now).progress for entry in entries]
    assert [event.queue_position for event in seen] == [None, None, 1, 2, 3]
    assert [event.estimate_seconds for event in seen] == [10, 10, 20, 20, 30]
    later = snapshot_of(session, entries[0], now + timedelta(seconds=4)).progress
    assert later.estimate_seconds == 6
    assert later == seen[0], "passing time alone is no change"
    gone = now + LEASE + timedelta(seconds=1)
    let_time_pass(session, LEASE + timedelta(seconds=1))
    assert snapshot_of(session, entries[2], gone).progress.estimate_seconds is None


def test_a_worker_between_two_jobs_still_counts(session: Session, state: CompetitionState, now: datetime) -> None:
    for worker, minutes in (("one", 0.1), ("two", 14), ("gone", 16)):
        done(session, state, seconds=10, ended=now - timedelta(minutes=minutes), worker=worker)
    entries = [queued(session, state, make_team(session, state, now), now) for _ in range(3)]
    assert [snapshot_of(session, entry, now).progress.estimate_seconds for entry in entries] == [10, 10, 20]


def test_an_entry_in_its_check_has_an_estimate_of_its_score(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    """Its score comes after those of waiting entries and of entries checked before it, in fair turns."""
    done(session, state, seconds=10, ended=now, worker="one")
    busy, other = make_team(session, state, now), make_team(session, state, now)
    for team in (busy, other):
        queued(session, state, team, now)
    done(session, state, seconds=1, ended=now, worker="checker", queue=Queue.CHECK)
    second = received(session, state, busy, now)
    first = received(session, state, make_team(session, state, now), now)
    assert snapshot_of(session, first, now).progress == SubmissionProgress(queue_position=2)
    assert snapshot_of(session, second, now).progress.estimate_seconds == 30, "after both waiting entries"
    assert snapshot_of(session, first, now).progress.estimate_seconds == 40, (
        "and after the second, which is checked first"
    )
    assert claim(session, now, queue=Queue.CHECK)
    assert snapshot_of(session, second, now).progress.estimate_seconds == 30


def test_a_long_check_extends_the_estimate(session: Session, state: CompetitionState, now: datetime) -> None:
    done(session, state, seconds=10, ended=now, worker="one")
    done(session, state, seconds=60, ended=now, worker="checker", queue=Queue.CHECK)
    entry = received(session, state, make_team(session, state, now), now)
    assert snapshot_of(session, entry, now).progress.estimate_seconds == 70


def test_private_jobs_change_no_estimate_and_no_position(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    done(session, state, seconds=10, ended=now - timedelta(seconds=5), worker="one")
    entries = [queued(session, state, make_team(session, state, now), now) for _ in range(2)]
    before = snapshot_of(session, entries[1], now)
    assert before.progress.estimate_seconds == 20
    done(session, state, kind="private", seconds=500, ended=now - timedelta(seconds=5), worker="two")
    for worker, waits in (("three", False), ("four", False), ("", True)):
        leases.add_job(
            session, Queue.SCORE, submission=entries[0], track_id=state.tracks["private"].id, private=True, now=now
        )
        session.flush()
        job = job_queue.load_jobs(session, entries[0].ref)[-1]
        if not waits:
            job.state = "running"
            job.holder = worker
            job.worker = worker
            job.started_at = now
            job.lease_until = now + LEASE
    session.flush()
    after = snapshot_of(session, entries[1], now)
    assert (after, after.progress.estimate_seconds) == (before, before.progress.estimate_seconds)


def test_the_history_cannot_be_rewritten(session: Session, state: CompetitionState, now: datetime) -> None:
    scored_after_a_lost_worker(session, state, now)
    for statement in ("UPDATE submission_events SET status = 'failed'", "DELETE FROM submission_events"):
        with pytest.raises(ProgrammingError, match="permission denied"), session.begin_nested():
            session.execute(text(statement))


def add_job(session: Session, queue: Queue, now: datetime, **values: Any) -> None:
    """Add a public job of the worker ``w``."""
    session.add(Job(queue=queue, worker="w", priority=0, turn=0, due_at=now, attempts=1, created_at=now, **values))


@pytest.mark.parametrize(("with_history", "left"), [(True, 140), (False, 40)])
def test_a_worker_is_busy_with_a_job_of_another_queue(
    session: Session, now: datetime, with_history: bool, left: float
) -> None:
    """The job has run for 40 s. Such jobs take 3 minutes. Without history, it is expected to take another 40 s."""
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
