"""Provisional scores: shown until the final one is there, never ranked, never private."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy.orm import Session

from scorer.archive import TrainingImageCopies
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import ProvisionalMeasurement, Submission
from scorer.jobs import leases, retries
from scorer.leaderboard import standings, submission_scores
from scorer.lifecycle import Queue
from scorer.submissions import outcomes, provisional_scores
from scorer.submissions.outcomes import NewMeasurement
from tests.factories import let_time_pass, make_competition, make_submission, make_team, set_tau

LEASE = timedelta(seconds=30)


@pytest.fixture
def state(session: Session, now: datetime) -> CompetitionState:
    state = make_competition(session, now)
    set_tau(session, state, "public", 0.2, now)
    return state


@pytest.fixture
def submission(session: Session, state: CompetitionState, now: datetime) -> Submission:
    """Passed its check and waits to be scored."""
    made = make_submission(session, state, make_team(session, state, now), now=now, status="received")
    leases.add_job(session, Queue.CHECK, submission=made, now=now)
    held = leases.claim_job(session, Queue.CHECK, holder="h", worker="w", now=now, lease=LEASE)
    assert held is not None
    outcomes.pass_check(session, held, TrainingImageCopies(0, 0, 0.0, None), pixels_sha256="0", now=now)  # type: ignore[arg-type]
    session.refresh(made)
    return made


def claim(session: Session, now: datetime, holder: str = "h") -> leases.Claim:
    held = leases.claim_job(session, Queue.SCORE, holder=holder, worker="w", now=now, lease=LEASE)
    assert held is not None
    return held


def provisionally(session: Session, held: leases.Claim, now: datetime, *, fid: float = 30.0, s: float = 0.5) -> None:
    provisional_scores.record_provisional(
        session, held, fid=fid, memorization_distance=s, provenance={"precision": "bfloat16"}, now=now
    )
    session.flush()


@pytest.mark.parametrize(("distance", "penalised", "expected"), [(0.5, False, 30.0), (0.1, True, 300.0)])
def test_it_is_judged_like_any_score(
    distance: float, penalised: bool, expected: float, session: Session, submission: Submission, now: datetime
) -> None:
    provisionally(session, claim(session, now), now, s=distance)
    session.refresh(submission)
    score = provisional_scores.provisional_score_of(session, submission)
    assert score is not None
    assert (score.tau, score.penalised, score.copy) == (0.2, penalised, False)
    assert score.mifid == pytest.approx(expected)


def test_a_copy_has_no_provisional_score_either(session: Session, submission: Submission, now: datetime) -> None:
    submission.copied_share = 0.9
    provisionally(session, claim(session, now), now)
    session.refresh(submission)
    score = provisional_scores.provisional_score_of(session, submission)
    assert score is not None
    assert score.copy
    assert score.mifid is None


def test_the_final_one_replaces_it_and_the_board_never_saw_it(
    session: Session, state: CompetitionState, submission: Submission, now: datetime
) -> None:
    held = claim(session, now)
    provisionally(session, held, now)
    session.refresh(submission)
    assert provisional_scores.provisional_score_of(session, submission) is not None
    assert not standings.standings(session, state, "public", None).places
    assert not submission_scores.measurements_of(session, submission, submission.account, ranked=True)
    assert outcomes.record_measurement(session, held, NewMeasurement("1", 31.0, 0.5, 0.01, [], {}, "key", {}), now=now)
    session.flush()
    session.refresh(submission)
    assert provisional_scores.provisional_score_of(session, submission) is None
    assert [place.score for place in standings.standings(session, state, "public", None).places] == [31.0]


def test_a_second_attempt_changes_nothing(session: Session, submission: Submission, now: datetime) -> None:
    provisionally(session, claim(session, now), now, fid=30.0)
    later = now + 2 * LEASE
    let_time_pass(session, 2 * LEASE)
    retries.free_expired(session, now=later, max_attempts=3)
    session.flush()
    provisionally(session, claim(session, later + LEASE, "second"), later, fid=99.0)
    session.refresh(submission)
    score = provisional_scores.provisional_score_of(session, submission)
    assert score is not None
    assert score.fid == 30.0


def test_a_worker_that_lost_its_job_and_the_private_track_leave_none(
    session: Session, submission: Submission, now: datetime
) -> None:
    lost = claim(session, now)
    let_time_pass(session, 2 * LEASE)
    retries.free_expired(session, now=now + 2 * LEASE, max_attempts=3)
    session.flush()
    provisionally(session, lost, now)
    held = claim(session, now + 3 * LEASE, "second")
    assert outcomes.record_measurement(session, held, NewMeasurement("1", 31.0, 0.5, 0.01, [], {}, "key", {}), now=now)
    session.flush()
    private = claim(session, now + 3 * LEASE, "third")
    assert not private.public
    provisionally(session, private, now)
    assert session.query(ProvisionalMeasurement).count() == 0
