"""Unfinished jobs (waiting, running, failed) and restarting them, for admins."""

from api.http.dependencies import Admin, DbSession, Now
from api.http.routing import ApiRouter
from api.http.views import RequeuedView
from api.jobs.views import JobView, PauseView, PauseWish, QueueView, RequeueWish, UnfinishedJobsView
from scorer.db.jobs.pauses import list_pauses
from scorer.jobs import failed_jobs, pauses
from scorer.review import failed_scores

router = ApiRouter(prefix="/admin/jobs", tags=["jobs"])


@router.get("")
def show(session: DbSession, admin: Admin) -> UnfinishedJobsView:
    """The queues with their depth and age, the running jobs, the failed ones with their errors, and what is paused."""
    unfinished = failed_jobs.read_unfinished(session)
    return UnfinishedJobsView(
        queues=[QueueView.model_validate(each, from_attributes=True) for each in unfinished.queues],
        running=[JobView.model_validate(each, from_attributes=True) for each in unfinished.running],
        pauses=[PauseView.model_validate(each, from_attributes=True) for each in unfinished.pauses],
        failed=[JobView.model_validate(each, from_attributes=True) for each in unfinished.failed],
    )


@router.post("/requeue")
def requeue(body: RequeueWish, session: DbSession, admin: Admin, now: Now) -> RequeuedView:
    """Queue a failed job again, or a running one, which is taken from its worker; without a job, all failed ones."""
    if body.job is None:
        return RequeuedView(requeued=failed_scores.restart_failed(session, author=admin, now=now))
    failed_jobs.restart(session, body.job, author=admin, now=now)
    return RequeuedView(requeued=1)


@router.post("/pauses")
def pause(body: PauseWish, session: DbSession, admin: Admin, now: Now) -> list[PauseView]:
    """Let a queue, a competition's entries or a worker take no more jobs, or take them again. What runs goes on; what
    waits keeps its place. Returns all pauses that hold."""
    subject = pauses.PauseSubject(body.queue, body.competition, body.worker)
    pauses.set_paused(session, subject, paused=body.paused, reason=body.reason, author=admin, now=now)
    return [PauseView.model_validate(each, from_attributes=True) for each in list_pauses(session)]
