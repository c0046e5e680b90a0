"""Pauses: paused jobs are not claimed, and keep their place."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.db.jobs import job_queue, pauses
from scorer.db.tables import Account, AuditEntry, Job
from scorer.errors import Conflict, Invalid, NotFound
from scorer.jobs import leases
from scorer.jobs.pauses import PauseSubject, set_paused
from scorer.lifecycle import Queue
from tests.factories import make_account, make_competition, make_submission, make_team


@pytest.fixture
def admin(session: Session, now: datetime) -> Account:
    return make_account(session, now, "admin", "pauser")


def pause(session: Session, admin: Account, **subject: str) -> None:
    now = admin.created_at
    set_paused(Acting(session, admin, now), PauseSubject(**subject), paused=True, reason="upgrade")


def resume(session: Session, admin: Account, **subject: str) -> None:
    now = admin.created_at
    set_paused(Acting(session, admin, now), PauseSubject(**subject), paused=False, reason="upgrade")


def waiting(session: Session, now: datetime, **competition: str) -> Job:
    """A waiting job of an entry in a new competition."""
    state = make_competition(session, now, **competition)
    submission = make_submission(session, state, make_team(session, state, now), now=now, status="received")
    job = leases.add_job(session, Queue.CHECK, submission=submission, now=now)
    session.flush()
    return job


def claim(session: Session, now: datetime, worker: str = "machine:7") -> leases.Claim | None:
    return leases.claim_job(session, Queue.CHECK, holder="h", worker=worker, now=now, lease=timedelta(seconds=30))


@pytest.mark.parametrize(
    ("subject", "stopped", "free"),
    [
        ({"queue": "check"}, "machine:7", None),
        ({"worker": "*"}, "machine:7", None),
        ({"worker": "machine"}, "machine:7", "other:7"),
        ({"worker": "machine:7"}, "machine:7", "machine:8"),
    ],
)
def test_paused_jobs_are_not_claimed_until_resumed(
    session: Session, admin: Account, now: datetime, subject: dict[str, str], stopped: str, free: str | None
) -> None:
    job = waiting(session, now)
    pause(session, admin, **subject)
    assert claim(session, now, stopped) is None
    if free is not None:
        attempt = session.begin_nested()
        assert claim(session, now, free) is not None
        attempt.rollback()
    resume(session, admin, **subject)
    claimed = claim(session, now, stopped)
    assert claimed is not None
    assert claimed.job.id == job.id


def test_a_paused_competition_stops_no_other(session: Session, admin: Account, now: datetime) -> None:
    first, second = waiting(session, now, slug="paused-dogs"), waiting(session, now)
    pause(session, admin, competition="paused-dogs")
    assert pauses.paused_among(session, [first.id, second.id]) == {first.id}
    assert job_queue.count_due(session) == {Queue.CHECK: 1}
    claimed = claim(session, now)
    assert claimed is not None
    assert claimed.job.id == second.id
    assert claim(session, now) is None
    assert not job_queue.waits_longer(session, Queue.CHECK, timedelta(seconds=-1))
    resume(session, admin, competition="paused-dogs")
    assert job_queue.waits_longer(session, Queue.CHECK, timedelta(seconds=-1))


def test_pauses_are_listed_and_audited(session: Session, admin: Account) -> None:
    pause(session, admin, queue="score")
    pause(session, admin, worker="gpu-1")
    listed = [(pause.queue, pause.worker, pause.reason, pause.author) for pause in pauses.list_pauses(session)]
    assert listed == [(None, "gpu-1", "upgrade", "pauser"), ("score", None, "upgrade", "pauser")]
    resume(session, admin, queue="score")
    assert [pause.worker for pause in pauses.list_pauses(session)] == ["gpu-1"]
    audited = session.query(AuditEntry).filter_by(actor_id=admin.id).order_by(AuditEntry.id).all()
    assert [(entry.action, entry.subject) for entry in audited] == [
        ("jobs.paused", "queue:score"),
        ("jobs.paused", "worker:gpu-1"),
        ("jobs.resumed", "queue:score"),
    ]


def test_invalid_and_redundant_pauses_are_refused(session: Session, admin: Account) -> None:
    with pytest.raises(Invalid):
        pause(session, admin)
    with pytest.raises(Invalid):
        pause(session, admin, queue="score", worker="gpu-1")
    with pytest.raises(NotFound):
        pause(session, admin, queue="scoring")
    with pytest.raises(NotFound):
        pause(session, admin, competition="nowhere")
    with pytest.raises(Conflict):
        resume(session, admin, queue="score")
    pause(session, admin, queue="score")
    with pytest.raises(Conflict):
        pause(session, admin, queue="score")
