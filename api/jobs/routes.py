"""Unfinished jobs (waiting, running, failed) and restarting them, for admins."""

from collections.abc import Sequence

from pydantic import Field

from api.http.dependencies import ActingAdmin, Admin, DbSession
from api.http.routing import ApiRouter
from api.http.views import Request, RequeuedView
from scorer.db.jobs.pauses import ListedPause, list_pauses
from scorer.jobs import failed_jobs, pauses
from scorer.jobs.failed_jobs import UnfinishedJobs
from scorer.review import failed_scores


class RequeueWish(Request):
    """Which jobs to queue again."""

    job: int | None = Field(None, ge=1, le=2**62, description="One job; null for all that have failed.")


class PauseWish(Request):
    """What to pause or to resume: one of a queue, a competition and a worker."""

    queue: str | None = None
    competition: str | None = Field(None, description="Its slug: the jobs of its entries.")
    worker: str | None = Field(
        None,
        min_length=1,
        max_length=300,
        description="A machine, a process (`machine:pid`), or `*` for all: it ends its job and takes no other.",
    )
    paused: bool = Field(True, description="False to resume.")
    reason: str = Field("", max_length=1000)


router = ApiRouter(prefix="/admin/jobs", tags=["jobs"])


@router.get("")
def show(session: DbSession, admin: Admin) -> UnfinishedJobs:
    """The queues with their depth and age, the running jobs, the failed ones with their errors, and what is paused."""
    return failed_jobs.read_unfinished(session)


@router.post("/requeue")
def requeue(body: RequeueWish, acting: ActingAdmin) -> RequeuedView:
    """Queue a failed job again, or a running one, which is taken from its worker; without a job, all failed ones."""
    if body.job is None:
        return RequeuedView(requeued=failed_scores.restart_failed(acting))
    failed_jobs.restart(acting, body.job)
    return RequeuedView(requeued=1)


@router.post("/pauses")
def pause(body: PauseWish, acting: ActingAdmin) -> Sequence[ListedPause]:
    """Let a queue, a competition's entries or a worker take no more jobs, or take them again. What runs goes on; what
    waits keeps its place. Returns all pauses that hold."""
    subject = pauses.PauseSubject(body.queue, body.competition, body.worker)
    pauses.set_paused(acting, subject, paused=body.paused, reason=body.reason)
    return list_pauses(acting.session)
