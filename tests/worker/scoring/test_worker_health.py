"""A broken worker does not fail all entries. Missing requirements and deployments cost no attempt."""

import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.orm import Session

from scorer.db.tables import Job
from scorer.errors import Unavailable
from scorer.jobs import leases, retries, sweeps
from scorer.lifecycle import Queue
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service
from tests.api.unusable_store import unusable_folder
from tests.factories import let_time_pass, make_zip, noise_images
from tests.worker.scoring.worker_process import PATIENCE, worker_process
from worker.dispatch import run_next
from worker.maintenance.sweeper import sweep_once
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.health import PAUSE_SECONDS, WorkerHealth
from worker.runtime.heartbeat import Heartbeat, stopping
from worker.runtime.self_test import self_test
from worker.scoring import score
from worker.scoring.measure import RawMeasurement, measure

ENTRIES = 5


def checked_entries(service: Service) -> list[str]:
    """The ids of entries of several teams that wait for their public score."""
    slug = service.competition()
    entries = []
    for seed, who in enumerate(["ada", "bob", "eve", "ada", "bob"]):
        entries.append(service.submit(who, slug, make_zip(noise_images(10 + seed))).json()["id"])
    while run_next(service.context, Queue.CHECK):
        pass
    return entries


cached, service = cached_fixtures(checked_entries)


@pytest.fixture
def checked(cached: CachedState[list[str]]) -> list[str]:
    """The ids of the checked entries."""
    return cached.result


def other_worker(service: Service) -> WorkerContext:
    """A working worker of the same service on another machine."""
    context = service.context
    return WorkerContext(context.settings, context.broker, context.sessions, context.blobs, name="working:1")


def statuses(service: Service, entries: list[str]) -> list[str]:
    return [service.call("organizer", "GET", f"/submissions/{entry}").json()["status"] for entry in entries]


def scoring_jobs(service: Service) -> list[Job]:
    with service.context.sessions() as session:
        return session.query(Job).filter_by(queue="score", priority=0).order_by(Job.id).all()


def pass_time(service: Service, by: timedelta) -> None:
    """Move the clocks of the database and the worker forward."""
    with service.context.sessions.begin() as session:
        let_time_pass(session, by)
    service.context.health.claims_from -= by.total_seconds()


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("CUDA error: unspecified launch failure")


def run_jobs_for(service: Service, context: WorkerContext, minutes: int) -> None:
    """Let a worker claim everything that it may for some minutes, with a message every 15 s."""
    for _ in range(4 * minutes):
        while run_next(context, Queue.SCORE):
            pass
        pass_time(service, timedelta(seconds=15))


def test_a_broken_worker_alone_fails_no_entry(
    service: Service, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that fails immediately could otherwise take and fail every entry within seconds."""
    with monkeypatch.context() as patch:
        patch.setattr(score, "measure", broken)
        run_jobs_for(service, service.context, minutes=30)
        assert statuses(service, checked) == ["queued"] * ENTRIES
        assert max(job.attempts for job in scoring_jobs(service)) <= 1
        assert {job.error for job in scoring_jobs(service)} >= {"RuntimeError: CUDA error: unspecified launch failure"}
    pass_time(service, timedelta(hours=1))
    service.run_jobs()
    assert statuses(service, checked) == ["scored"] * ENTRIES, "after the worker is fixed"


def claimed(service: Service, worker: str) -> leases.Claim | None:
    """The job that a worker would claim now; the claim is rolled back."""
    with service.context.sessions() as session:
        lease = service.context.lease
        return leases.claim_job(session, Queue.SCORE, holder="h", worker=worker, now=service.context.now(), lease=lease)


@pytest.mark.parametrize("works", ["has finished a job", "runs a job"])
def test_a_job_that_failed_on_one_worker_is_left_to_other_workers(
    service: Service, checked: list[str], monkeypatch: pytest.MonkeyPatch, works: str
) -> None:
    working = other_worker(service)
    with monkeypatch.context() as patch:
        patch.setattr(score, "measure", broken)
        assert run_next(service.context, Queue.SCORE)
    (failed,) = (job for job in scoring_jobs(service) if job.error)
    pass_time(service, timedelta(minutes=1))
    alone = claimed(service, service.context.name)
    assert alone is not None
    assert alone.job.id == failed.id, "there is no other worker"
    if works == "runs a job":
        with service.context.sessions.begin() as session:
            job = session.query(Job).filter_by(queue="score", error=None).order_by(Job.id).first()
            assert job is not None
            job.state, job.holder, job.worker = "running", "h", working.name
            job.lease_until = service.context.now() + timedelta(minutes=1)
    else:
        with service.context.sessions.begin() as session:
            session.query(Job).filter_by(queue="check").update({"worker": working.name, "queue": "score"})
    next_claim = claimed(service, service.context.name)
    assert next_claim is not None
    assert next_claim.job.id != failed.id
    with service.context.sessions.begin() as session:
        job = session.get_one(Job, failed.id)
        retries.restart(session, job, now=service.context.now())
        job.turn = -1
    restarted = claimed(service, service.context.name)
    assert restarted is not None
    assert restarted.job.id == failed.id, "an admin has restarted the job, so every worker may try"
    with service.context.sessions.begin() as session:
        session.get_one(Job, failed.id).attempts = 1
    while run_next(working, Queue.SCORE):
        pass
    assert [(job.state, job.attempts) for job in scoring_jobs(service) if job.id == failed.id] == [("done", 2)]
    assert statuses(service, checked).count("scored") >= ENTRIES - 1


def test_a_job_that_fails_everywhere_fails(
    service: Service, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other jobs on the same worker succeed, so the worker is not the cause."""
    poison = next(job.submission_ref for job in scoring_jobs(service))
    begin = decoded_images.submission_images
    current: list[int] = []

    def remember(context: WorkerContext, submission: Any, progress: Any, **options: Any) -> Any:
        current[:] = [submission.ref]
        return begin(context, submission, progress, **options)

    def fail_one(*args: Any, **options: Any) -> Any:
        return broken() if current == [poison] else measure(*args, **options)

    monkeypatch.setattr("worker.scoring.score.decoded_images.submission_images", remember)
    monkeypatch.setattr(score, "measure", fail_one)
    run_jobs_for(service, service.context, minutes=5)
    assert sorted(statuses(service, checked)) == ["failed"] + ["scored"] * (ENTRIES - 1)


def test_missing_requirements_cost_no_attempt(
    service: Service, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(*_: Any) -> Any:
        raise Unavailable("missing-weights", "The weights are not there.")

    with monkeypatch.context() as patch:
        patch.setattr(score, "require_same_weights", lacking)
        run_jobs_for(service, service.context, minutes=20)
    assert statuses(service, checked) == ["queued"] * ENTRIES
    assert {job.attempts for job in scoring_jobs(service)} == {0}
    assert min(job.deferrals for job in scoring_jobs(service)) >= 2
    pass_time(service, timedelta(hours=1))
    service.run_jobs()
    assert statuses(service, checked) == ["scored"] * ENTRIES


def test_jobs_wait_for_a_store_that_cannot_be_used(
    service: Service, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "MAX_DEFERRALS", 0)
    with unusable_folder(service.context.settings):
        run_jobs_for(service, service.context, minutes=20)
        assert statuses(service, checked) == ["queued"] * ENTRIES
    assert {job.attempts for job in scoring_jobs(service)} == {0}
    assert {str(job.error).partition(":")[0] for job in scoring_jobs(service)} == {"The blob store cannot be used"}
    pass_time(service, timedelta(hours=1))
    service.run_jobs()
    assert statuses(service, checked) == ["scored"] * ENTRIES


def test_requirements_that_stay_missing_fail_the_entry(
    service: Service, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retries, "MAX_DEFERRALS", 1)

    def lacking(*_: Any) -> Any:
        raise Unavailable("missing-weights", "The weights are not there.")

    monkeypatch.setattr(score, "require_same_weights", lacking)
    for _ in range(1 + service.context.settings.max_attempts):
        pass_time(service, timedelta(hours=1))
        while run_next(service.context, Queue.SCORE):
            pass
    assert statuses(service, checked) == ["failed"] * ENTRIES


def test_a_stopping_worker_requeues_its_job(
    service: Service, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:

    def stop(*args: Any, **named: Any) -> RawMeasurement:
        stopping.value = 1
        return measure(*args, **named)

    monkeypatch.setattr(score, "measure", stop)
    try:
        assert run_next(service.context, Queue.SCORE)
        assert not run_next(service.context, Queue.SCORE), "the worker takes no other job"
    finally:
        stopping.value = 0
    monkeypatch.setattr(score, "measure", measure)
    assert statuses(service, checked) == ["queued"] * ENTRIES
    assert {job.attempts for job in scoring_jobs(service)} == {0}
    service.run_jobs()
    assert statuses(service, checked) == ["scored"] * ENTRIES


COMPUTING = """
import sys, time
from celery.__main__ import main
from scorer.extractors.tiny import Tiny

compute = Tiny.features

def features(self, images, *, progress):
    end = time.monotonic() + 30
    while time.monotonic() < end:
        compute(self, images[:1], progress=progress)
        time.sleep(0.01)
    return compute(self, images, progress=progress)

Tiny.features = features
sys.argv = ["celery", "-A", "worker.app", "worker", "-Q", "score", "--concurrency", "1", "-l", "info"]
main()
"""
"""A worker that computes batches of features until it is stopped, for at most 30 s."""


def test_a_computing_worker_requeues_its_job_and_ends_on_sigterm(service: Service, checked: list[str]) -> None:
    def computed() -> list[int]:
        return [job.id for job in scoring_jobs(service) if (job.state, job.stage) == ("running", "features")]

    settings = service.context.settings
    with worker_process(COMPUTING, settings, KENNEL_LEASE_SECONDS=str(settings.lease_seconds)) as worker:
        deadline = time.monotonic() + PATIENCE
        while not (begun := computed()) and time.monotonic() < deadline:
            sweep_once(service.context)
            time.sleep(0.1)
        worker.process.terminate()
        ended = worker.process.wait(PATIENCE)
    assert (len(begun), ended) == (1, 0), worker.output
    left = {(job.state, job.attempts, job.deferrals) for job in scoring_jobs(service)}
    assert left == {("waiting", 0, 0)}, worker.output
    assert f"job {begun[0]} is requeued: WorkerStopping" in worker.output
    service.run_jobs()
    assert statuses(service, checked) == ["scored"] * ENTRIES, "another worker takes the jobs"


def test_a_job_without_progress_loses_its_lease(
    service: Service, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checked
    context = service.context
    with context.sessions.begin() as session:
        claim = leases.claim_job(session, Queue.SCORE, holder="h", worker="w", now=context.now(), lease=context.lease)
    assert claim is not None
    heartbeat = Heartbeat(context, claim)
    heartbeat("features", 0.5)

    def expired() -> int:
        with context.sessions.begin() as session:
            let_time_pass(session, context.lease - timedelta(seconds=1))
        heartbeat._beat()
        with context.sessions.begin() as session:
            let_time_pass(session, timedelta(seconds=2))
        with context.sessions.begin() as session:
            return sweeps.free_expired(session, now=context.now(), max_attempts=3)

    assert expired() == 0
    monkeypatch.setattr(heartbeat, "_moved_at", heartbeat._moved_at - context.settings.max_stall_seconds)
    heartbeat("features", 0.6)
    assert expired() == 0, "there was progress"
    monkeypatch.setattr(heartbeat, "_moved_at", heartbeat._moved_at - context.settings.max_stall_seconds)
    heartbeat("features", 0.6)
    assert expired() == 1
    heartbeat._beat()


def test_pauses_grow_and_end_with_a_success() -> None:
    seconds = [0.0]
    health = WorkerHealth(clock=lambda: seconds[0])
    assert health.may_claim(lambda: None)
    health.record_failure(1, lambda: None)
    assert health.may_claim(lambda: None), "one job does not make the worker suspect"
    health.record_failure(1, lambda: None)
    assert health.may_claim(lambda: None), "the same job again does not either"
    job_id = 2
    for pause in (*PAUSE_SECONDS, PAUSE_SECONDS[-1]):
        health.record_failure(job_id, lambda: None)
        assert health.is_suspect
        seconds[0] += pause - 1
        assert not health.may_claim(lambda: None)
        seconds[0] += 1
        assert health.may_claim(lambda: None), "the worker may try one job"
        job_id += 1
    health.record_success()
    assert not health.is_suspect


def test_the_retry_factor_shortens_pauses() -> None:
    seconds = [0.0]
    health = WorkerHealth(clock=lambda: seconds[0], factor=0.1)
    health.record_failure(1, lambda: "the disk is full")
    seconds[0] += PAUSE_SECONDS[0] / 10 - 1
    assert not health.may_claim(lambda: None)
    seconds[0] += 1
    assert health.may_claim(lambda: None)


def test_a_worker_with_a_problem_claims_nothing_until_it_is_solved(service: Service) -> None:
    context = service.context
    context.extractor("tiny")
    assert self_test(context) is None
    seconds = [0.0]
    health = WorkerHealth(clock=lambda: seconds[0])
    health.record_failure(1, lambda: "the disk is full")
    assert health.is_suspect
    for pause in PAUSE_SECONDS:
        seconds[0] += pause
        assert not health.may_claim(lambda: "the disk is full")
    seconds[0] += PAUSE_SECONDS[-1]
    assert health.may_claim(lambda: None)


def test_the_self_test_finds_faults(service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    context = service.context
    extractor = context.extractor("tiny")
    with monkeypatch.context() as patch:
        patch.setattr(type(extractor), "features", broken)
        assert "CUDA" in (self_test(context) or "")
    blocked = tmp_path / "file"
    blocked.write_text("")
    elsewhere = replace(context, settings=context.settings.model_copy(update={"scratch": blocked}))
    assert "Error" in (self_test(elsewhere) or "")
    with monkeypatch.context() as patch:
        patch.setattr(context.blobs, "read", lambda _: b"other bytes")
        assert "other bytes" in (self_test(context) or "")
    assert self_test(context) is None


def test_the_lease_is_renewed_while_a_failure_is_recorded(
    service: Service, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, if recording the failure takes longer than the lease, another worker takes the job and the attempt
    counts twice."""
    service.context.settings = service.context.settings.model_copy(update={"lease_seconds": 2})
    seen = []

    def lease_until(claim: leases.Claim) -> Any:
        with service.context.sessions() as session:
            return session.get_one(Job, claim.job.id).lease_until

    def settle(_: Session, claim: leases.Claim, **__: Any) -> None:
        first = lease_until(claim)
        deadline = time.monotonic() + 60
        while lease_until(claim) == first and time.monotonic() < deadline:
            time.sleep(0.05)
        seen.append(lease_until(claim) > first)

    monkeypatch.setattr(score, "measure", broken)
    monkeypatch.setattr(retries, "retry_or_fail", settle)
    assert run_next(service.context, Queue.SCORE)
    assert seen == [True]


def test_a_killed_process_leaves_no_lock() -> None:
    """The stop signal for a worker's processes is shared memory without a lock."""
    assert not hasattr(stopping, "get_lock")
