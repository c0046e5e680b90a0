"""The backlog of jobs (waiting, running, failed) and restarting them, for admins."""

from fastapi import APIRouter

from api.http.dependencies import Admin, DbSession, Now
from api.schemas.jobs import BacklogView, JobView, QueueView, RequeueWish
from api.schemas.review.publication import RequeuedView
from scorer.jobs import failed_jobs
from scorer.review import failed_scores

router = APIRouter(prefix="/admin/work", tags=["work"])


@router.get("")
def show(session: DbSession, admin: Admin) -> BacklogView:
    """The queues with their depth and age, the running jobs, and the failed ones with their errors."""
    backlog = failed_jobs.read_backlog(session)
    return BacklogView(
        queues=[QueueView.model_validate(each, from_attributes=True) for each in backlog.queues],
        running=[JobView.model_validate(each, from_attributes=True) for each in backlog.running],
        failed=[JobView.model_validate(each, from_attributes=True) for each in backlog.failed],
    )


@router.post("/requeue")
def requeue(body: RequeueWish, session: DbSession, admin: Admin, now: Now) -> RequeuedView:
    """Queue a failed job again, or a running one, which is taken from its worker; without a job, all failed ones."""
    if body.job is None:
        return RequeuedView(requeued=failed_scores.restart_failed(session, author=admin, now=now))
    failed_jobs.restart(session, body.job, author=admin, now=now)
    return RequeuedView(requeued=1)
