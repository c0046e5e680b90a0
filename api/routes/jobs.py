"""Work that waits, runs or has failed, for admins."""

from fastapi import APIRouter

from api.http.dependencies import Admin, DbSession, Now
from api.schemas.jobs import BacklogView, JobView, QueueView, RequeueWish
from api.schemas.review.publication import RequeuedView
from scorer.jobs import failed_jobs
from scorer.review import failed_scores

router = APIRouter(prefix="/admin/work", tags=["work"])


@router.get("")
def show(session: DbSession, admin: Admin, now: Now) -> BacklogView:
    """The queues with their depth and age, what runs, and what has failed and why."""
    found = failed_jobs.read_backlog(session, now)
    return BacklogView(
        queues=[QueueView.model_validate(each, from_attributes=True) for each in found.queues],
        running=[JobView.model_validate(each, from_attributes=True) for each in found.running],
        failed=[JobView.model_validate(each, from_attributes=True) for each in found.failed],
    )


@router.post("/requeue")
def requeue(body: RequeueWish, session: DbSession, admin: Admin, now: Now) -> RequeuedView:
    """Set a failed job going again or take a running one from its worker; without a job, all that have failed."""
    if body.job is None:
        return RequeuedView(requeued=failed_scores.restart_failed(session, author=admin, now=now))
    failed_jobs.restart(session, body.job, author=admin, now=now)
    return RequeuedView(requeued=1)
