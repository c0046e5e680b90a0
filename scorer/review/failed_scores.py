"""Failed scoring: restarts the private jobs of a competition that failed."""

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db.jobs import failed_jobs
from scorer.jobs import retries
from scorer.lifecycle import JobState


def restart_failed(acting: Acting, *, state: CompetitionState | None = None) -> int:
    """Restart every failed job, or those of a competition's private track (``state``). Returns their number.

    Writes one audit log entry that names all of them.
    """
    track_id = state.tracks["private"].id if state else None
    jobs = [
        failed_jobs.lock_job(acting.session, row.id) for row in failed_jobs.failed(acting.session, track_id=track_id)
    ]
    failed = [job for job in jobs if job is not None and job.state == JobState.FAILED]
    for job in failed:
        retries.restart(acting.session, job, now=acting.now)
    if failed:
        subject = f"competition:{state.competition.slug}" if state else "jobs:failed"
        before = {"failed": {str(job.id): job.error for job in failed}}
        audit_log.record_action(acting, "jobs.requeued", subject, before=before)
    return len(failed)
