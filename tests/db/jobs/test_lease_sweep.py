"""The sweep of leases: a vanished worker costs an attempt, a database outage does not."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from scorer.db.tables import Job, LastSweep, Mail
from scorer.jobs import leases
from scorer.jobs.sweeps import EXTENDED_EVERY, sweep_leases
from scorer.lifecycle import Queue
from tests.factories import let_time_pass, make_competition, make_submission, make_team

LEASE = timedelta(seconds=30)
INTERVAL = timedelta(seconds=10)
SECOND = timedelta(seconds=1)


@pytest.fixture
def job(session: Session, now: datetime) -> Job:
    """A job that a worker holds."""
    state = make_competition(session, now)
    submission = make_submission(session, state, make_team(session, state, now), now=now, status="received")
    leases.add_job(session, Queue.CHECK, submission=submission, now=now)
    claim = leases.claim_job(session, Queue.CHECK, holder="h", worker="w", now=now, lease=LEASE)
    assert claim is not None
    return session.get_one(Job, claim.job.id)


def sweep(session: Session, now: datetime) -> dict[str, int]:
    done = sweep_leases(session, now=now, lease=LEASE, interval=INTERVAL, max_attempts=3)
    session.expire_all()
    return done


def pass_time(session: Session, by: timedelta) -> None:
    """Move the database's clock forward, for jobs and for the last sweep."""
    let_time_pass(session, by)
    session.query(LastSweep).update(
        {LastSweep.swept_at: LastSweep.swept_at - by, LastSweep.extended_at: LastSweep.extended_at - by}
    )


def test_a_vanished_worker_loses_its_job_while_sweeps_are_on_time(session: Session, job: Job, now: datetime) -> None:
    done = [sweep(session, now)]
    for _ in range(4):
        pass_time(session, INTERVAL)
        done.append(sweep(session, now))
    assert done == [{"expired": 0}] * 4 + [{"expired": 1}]
    assert (job.state, job.attempts) == ("waiting", 1)


def test_leases_that_expired_during_an_outage_are_extended(session: Session, job: Job, now: datetime) -> None:
    assert sweep(session, now) == {"expired": 0}
    pass_time(session, LEASE + SECOND)
    assert sweep(session, now) == {"extended": 1}
    assert (job.state, job.holder) == ("running", "h")
    pass_time(session, INTERVAL)
    assert sweep(session, now) == {"expired": 0}


def test_a_worker_that_vanished_in_an_outage_loses_its_job_a_lease_later(
    session: Session, job: Job, now: datetime
) -> None:
    sweep(session, now)
    pass_time(session, LEASE + SECOND)
    sweep(session, now)
    pass_time(session, INTERVAL)
    sweep(session, now)
    pass_time(session, LEASE - INTERVAL + SECOND)
    assert sweep(session, now) == {"expired": 1}
    assert job.state == "waiting"


def test_sweeps_that_are_always_late_still_find_vanished_workers(session: Session, job: Job, now: datetime) -> None:
    sweep(session, now)
    done = []
    while job.state == "running":
        pass_time(session, LEASE + SECOND)
        done.append(sweep(session, now))
        assert len(done) <= EXTENDED_EVERY
    assert done == [{"extended": 1}, {"expired": 1}]


def test_a_clock_set_back_delays_no_job_and_no_mail(session: Session, job: Job, now: datetime) -> None:
    state = make_competition(session, now, slug="other")
    submission = make_submission(session, state, make_team(session, state, now), now=now, status="received")
    leases.add_job(session, Queue.CHECK, submission=submission, now=now)
    mail = Mail(
        recipient="a@example.org", subject="s", body="b", state="waiting", attempts=0, created_at=now, due_at=now
    )
    session.add(mail)
    sweep(session, now)
    today = session.scalars(select(func.now())).one()
    hour = timedelta(hours=1)
    pass_time(session, -hour)
    mail.due_at = today + hour
    assert leases.claim_job(session, Queue.CHECK, holder="i", worker="v", now=now, lease=LEASE) is None
    assert sweep(session, now) == {"set_back": 2}
    assert mail.due_at <= today + SECOND
    assert leases.claim_job(session, Queue.CHECK, holder="i", worker="v", now=now, lease=LEASE) is not None
    pass_time(session, INTERVAL)
    assert sweep(session, now) == {"expired": 0}
    for _ in range(3):
        pass_time(session, INTERVAL)
        done = sweep(session, now)
    assert done == {"expired": 2}
