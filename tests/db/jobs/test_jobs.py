"""The job queue: order, leases, attempts, the sweep, and workers' reports."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, update
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.jobs import job_queue, worker_reports
from scorer.db.submissions.submissions import UnexpectedStatus
from scorer.db.tables import Job, Measurement, Publication, Submission, Team, WorkerReport
from scorer.jobs import leases, retries, sweeps
from scorer.lifecycle import Queue
from scorer.submissions import outcomes
from tests.db.claimed_jobs import LEASE, MEASURED, claim, queued, received
from tests.factories import let_time_pass, make_competition, make_team


@pytest.fixture
def state(session: Session, now: datetime) -> CompetitionState:
    return make_competition(session, now)


def load_status(session: Session, submission: Submission) -> str:
    """The status that everyone sees."""
    session.refresh(submission)
    return submission.status


def test_public_precedes_private_and_teams_take_turns(session: Session, state: CompetitionState, now: datetime) -> None:
    busy, other = make_team(session, state, now), make_team(session, state, now)
    first = [queued(session, state, busy, now) for _ in range(3)]
    late = queued(session, state, other, now)
    order = []
    while (held := claim(session, now)) is not None:
        order.append((held.job.submission_ref, held.public))
        assert outcomes.record_measurement(session, held, MEASURED, now=now)
        session.flush()
    fair = [first[0].ref, late.ref, first[1].ref, first[2].ref]
    assert order == [(ref, True) for ref in fair] + [(ref, False) for ref in fair]


def test_a_team_that_submits_often_does_not_overtake_others(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    """A round of turns does not end while new teams arrive, so finished scores must count as turns."""
    moments = (now + timedelta(seconds=second) for second in range(1000))
    first, eager, new = (make_team(session, state, now) for _ in range(3))

    def enter(team: Team) -> int:
        return queued(session, state, team, next(moments)).ref

    def score() -> int | None:
        held = claim(session, next(moments))
        assert held is not None
        assert outcomes.record_measurement(session, held, MEASURED, now=next(moments))
        session.flush()
        return held.job.submission_ref

    entries = [enter(first), enter(first), enter(eager), enter(new)]
    assert [score(), score()] == [entries[0], entries[2]]
    again = enter(eager)
    assert [score(), score(), score()] == [entries[3], entries[1], again]


def test_turns_restart_when_nothing_waits(session: Session, state: CompetitionState, now: datetime) -> None:
    busy, new = make_team(session, state, now), make_team(session, state, now)
    for second in range(3):
        moment = now + timedelta(seconds=second)
        queued(session, state, busy, moment)
        held = claim(session, moment)
        assert held
        assert outcomes.record_measurement(session, held, MEASURED, now=moment)
    entries = [queued(session, state, team, now + timedelta(minutes=1)).ref for team in (busy, new)]
    held = claim(session, now + timedelta(minutes=1))
    assert held
    assert held.job.submission_ref == entries[0], "scores while nobody waited cost no turn"


def test_shown_positions_are_the_order_of_claims(session: Session, state: CompetitionState, now: datetime) -> None:
    teams = [make_team(session, state, now) for _ in range(3)]
    for _ in range(3):
        for team in teams:
            queued(session, state, team, now)
    waiting = {
        job.id: job for submission in session.query(Submission) for job in job_queue.load_jobs(session, submission.ref)
    }
    positions = {
        job.id: job_queue.load_position(session, job)
        for job in waiting.values()
        if job.queue == "score" and job.state == "waiting"
    }
    claimed = []
    while (held := claim(session, now)) is not None:
        claimed.append(held.job.id)
    assert claimed == sorted(positions, key=lambda job_id: positions[job_id])
    assert sorted(positions.values()) == list(range(1, len(positions) + 1))


def test_a_score_is_recorded_once_and_only_by_its_holder(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    submission = queued(session, state, make_team(session, state, now), now)
    first = claim(session, now, "first")
    assert first is not None
    assert load_status(session, submission) == "scoring"
    later = now + LEASE + timedelta(seconds=1)
    let_time_pass(session, LEASE + timedelta(seconds=1))
    sweeps.free_expired(session, now=later, max_attempts=3)
    assert load_status(session, submission) == "queued"
    second = claim(session, later, "second")
    assert second is not None
    assert second.job.id == first.job.id
    assert not outcomes.record_measurement(session, first, MEASURED, now=later)
    assert outcomes.record_measurement(session, second, MEASURED, now=later)
    assert not outcomes.record_measurement(session, second, MEASURED, now=later)
    assert load_status(session, submission) == "scored"


def test_a_heartbeat_renews_the_lease_and_records_progress(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    queued(session, state, make_team(session, state, now), now)
    held = claim(session, now)
    assert held is not None
    let_time_pass(session, LEASE - timedelta(seconds=1))
    assert job_queue.renew_lease(session, held.job.id, held.holder, stage="features", fraction=0.4, lease=LEASE)
    let_time_pass(session, timedelta(seconds=2))
    sweeps.free_expired(session, now=now, max_attempts=3)
    job = session.get_one(Job, held.job.id)
    session.refresh(job)
    assert (job.state, job.stage, job.fraction) == ("running", "features", 0.4)


def test_a_poison_entry_ends_as_failed_and_costs_the_team_nothing(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    submission = queued(session, state, make_team(session, state, now), now)
    moment = now
    for _ in range(3):
        moment += timedelta(minutes=10)
        let_time_pass(session, timedelta(minutes=10))
        assert claim(session, moment) is not None
        let_time_pass(session, LEASE + timedelta(seconds=1))
        sweeps.free_expired(session, now=moment, max_attempts=3)
    session.refresh(submission)
    assert submission.status == "failed"
    assert submission.reason == retries.OUR_FAULT
    let_time_pass(session, timedelta(days=1))
    assert claim(session, moment) is None, "the private track's job ended with it"


def test_a_failing_private_track_leaves_the_public_score_alone(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    submission = queued(session, state, make_team(session, state, now), now)
    public = claim(session, now)
    assert public is not None
    assert outcomes.record_measurement(session, public, MEASURED, now=now)
    private = claim(session, now)
    assert private is not None
    assert not private.public
    retries.retry_or_fail(session, private, error="no", now=now, max_attempts=1)
    assert load_status(session, submission) == "scored"
    assert session.get_one(Job, private.job.id).state == "failed"


@pytest.mark.parametrize("behind", [timedelta(minutes=1), -timedelta(minutes=10)])
def test_a_machines_wrong_clock_changes_nothing(
    session: Session, state: CompetitionState, now: datetime, behind: timedelta
) -> None:
    """With its own clock, a worker behind would lose every job, and a web process ahead would delay every entry."""
    submission = queued(session, state, make_team(session, state, now), now)
    held = claim(session, now - behind)
    assert held is not None
    assert sweeps.free_expired(session, now=now, max_attempts=3) == 0, "the lease follows the database's clock"
    assert job_queue.renew_lease(session, held.job.id, held.holder, stage="features", fraction=0.4, lease=LEASE)
    for moment in (now - behind, now, now + behind):
        assert sweeps.free_expired(session, now=moment, max_attempts=3) == 0
    retries.retry_or_fail(session, held, error="no", now=now - behind, max_attempts=3)
    session.flush()
    let_time_pass(session, retries.RETRIES[0])
    assert claim(session, now + behind) is not None
    assert load_status(session, submission) == "scoring"


@pytest.mark.parametrize(
    ("settle", "pause"), [(retries.retry_or_fail, retries.RETRIES[0]), (retries.defer_or_fail, retries.DEFERRALS[0])]
)
def test_the_retry_factor_shortens_pauses(
    session: Session, state: CompetitionState, now: datetime, settle: Callable[..., None], pause: timedelta
) -> None:
    received(session, state, make_team(session, state, now), now)
    held = leases.claim_job(session, Queue.CHECK, holder="h", worker="w", now=now, lease=LEASE)
    assert held is not None
    settle(session, held, error="no", now=now, max_attempts=3, factor=0.1)
    session.flush()
    let_time_pass(session, pause / 10 - timedelta(seconds=1))
    assert job_queue.count_due(session) == {}
    let_time_pass(session, timedelta(seconds=1))
    assert job_queue.count_due(session) == {Queue.CHECK: 1}


def test_the_sweep_announces_only_jobs_without_a_message(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    team = make_team(session, state, now)
    for _ in range(3):
        received(session, state, team, now)
    assert sweeps.announce_due(session, {Queue.CHECK: 1}) == {"announced_check": 2}
    assert sweeps.announce_due(session, {Queue.CHECK: 3}) == {}


def test_a_sweep_sends_no_more_messages_than_workers_can_take(
    session: Session, state: CompetitionState, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = make_team(session, state, now)
    for _ in range(3):
        received(session, state, team, now)
    monkeypatch.setattr(sweeps, "MAX_SENT", 2)
    assert sweeps.announce_due(session, {}) == {"announced_check": 2}


def test_a_job_with_an_unexpected_submission_status_fails_alone(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    """Otherwise the job would run and its submission would silently keep its status."""
    odd = received(session, state, make_team(session, state, now), now)
    other = received(session, state, make_team(session, state, now), now)
    odd.status = "cancelled"
    session.flush()
    assert claim(session, now, queue=Queue.CHECK) is None
    (job,) = job_queue.load_jobs(session, odd.ref)
    session.refresh(job)
    assert (job.state, job.holder) == ("failed", None)
    assert job.error == f"submission {odd.ref} is not received, so it can't become checking"
    held = claim(session, now, queue=Queue.CHECK)
    assert held is not None
    assert held.job.submission_ref == other.ref


def test_no_outcome_is_recorded_for_an_unexpected_status(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    submission = queued(session, state, make_team(session, state, now), now)
    held = claim(session, now)
    assert held is not None
    session.refresh(submission)
    submission.status = "cancelled"
    session.flush()
    with pytest.raises(UnexpectedStatus):
        outcomes.record_measurement(session, held, MEASURED, now=now)


def test_a_sweep_continues_if_a_job_and_its_submission_disagree(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    odd = queued(session, state, make_team(session, state, now), now)
    other = queued(session, state, make_team(session, state, now), now)
    assert claim(session, now, "one") is not None
    assert claim(session, now, "two") is not None
    session.refresh(odd)
    odd.status = "scored"
    session.flush()
    let_time_pass(session, LEASE + timedelta(seconds=1))
    assert sweeps.free_expired(session, now=now, max_attempts=3) == 2
    assert load_status(session, other) == "queued"
    assert load_status(session, odd) == "scored"


def test_a_measurement_is_newer_than_a_published_board_on_any_clock(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    team = make_team(session, state, now)
    queued(session, state, team, now)
    held = claim(session, now)
    assert held is not None
    act = Publication(competition_id=state.competition.id, published=True, reason="-", as_of=now)
    act.created_at, act.author_id = now, state.competition.created_by
    session.add(act)
    session.flush()
    assert outcomes.record_measurement(session, held, MEASURED, now=now - timedelta(seconds=5))
    assert session.query(Measurement).one().created_at > now


def write(session: Session, worker: str, **changes: object) -> None:
    """Write a report with default values."""
    defaults = {"version": "1", "migration": "0046", "queues": ["score", "check"], "extractors": {"tiny@1": "ab"}}
    worker_reports.write_report(session, worker, **{**defaults, **changes})  # type: ignore[arg-type]


def test_a_report_is_renewed_and_removed(session: Session) -> None:
    write(session, "b@host", version="0")
    write(session, "a@host")
    write(session, "b@host")
    assert [
        (report.worker, report.version, report.queues, report.extractors)
        for report in worker_reports.recent_reports(session)
    ] == [(worker, "1", ["check", "score"], {"tiny@1": "ab"}) for worker in ("a@host", "b@host")]
    worker_reports.remove_report(session, "a@host")
    assert [report.worker for report in worker_reports.recent_reports(session)] == ["b@host"]


def test_an_old_report_does_not_count(session: Session) -> None:
    write(session, "a@host")
    session.execute(update(WorkerReport).values(reported_at=func.now() - worker_reports.MAX_AGE))
    assert worker_reports.recent_reports(session) == []
    write(session, "a@host")
    assert len(worker_reports.recent_reports(session)) == 1
