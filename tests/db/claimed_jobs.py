"""Jobs that wait, and workers that claim them."""

from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from scorer.archive import TrainingImageCopies
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Submission, Team
from scorer.jobs import leases
from scorer.lifecycle import Queue
from scorer.submissions import outcomes
from scorer.submissions.outcomes import NewMeasurement
from tests.factories import make_submission

LEASE = timedelta(seconds=30)
MEASURED = NewMeasurement("1", 10.0, 0.5, 0.01, [], {}, "key", {})


def received(session: Session, state: CompetitionState, team: Team, now: datetime) -> Submission:
    """A submission that waits for its check, as ``accept`` creates it."""
    submission = make_submission(session, state, team, now=now, status="received")
    leases.add_job(session, Queue.CHECK, submission=submission, now=now)
    session.flush()
    return submission


def queued(session: Session, state: CompetitionState, team: Team, now: datetime) -> Submission:
    """A submission that has passed its check."""
    submission = received(session, state, team, now)
    held = leases.claim_job(session, Queue.CHECK, holder="h", worker="w", now=now, lease=LEASE)
    assert held is not None
    assert held.job.submission_ref == submission.ref
    nothing = TrainingImageCopies(0, 0, 0.0, None)  # type: ignore[arg-type]
    assert outcomes.pass_check(session, held, nothing, pixels_sha256="0", now=now)
    session.flush()
    return submission


def claim(session: Session, now: datetime, holder: str = "h", queue: Queue = Queue.SCORE) -> leases.Claim | None:
    """Claim the next job."""
    return leases.claim_job(session, queue, holder=holder, worker="w", now=now, lease=LEASE)
