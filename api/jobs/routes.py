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
    """The jobs to restart."""

    job: int | None = Field(None, ge=1, le=2**62, description="The ID of a job. Null for all failed jobs.")


class PauseWish(Request):
    """What to pause or resume: a queue, a competition or a worker."""

    queue: str | None = None
    competition: str | None = Field(None, description="The slug of a competition whose jobs pause or resume.")
    worker: str | None = Field(
        None,
        min_length=1,
        max_length=300,
        description="A machine, a process (`machine:pid`), or `*` for all. A paused worker only finishes its job.",
    )
    paused: bool = Field(True, description="Whether to pause (`true`) or to resume (`false`).")
    reason: str = Field("", max_length=1000)


router = ApiRouter(prefix="/admin/jobs", tags=["jobs"])


@router.get("")
def show(session: DbSession, admin: Admin) -> UnfinishedJobs:
    """Get the length and the longest wait of each queue, the running and failed jobs, and all pauses. Admins only."""
    return failed_jobs.read_unfinished(session)


@router.post("/requeue")
def requeue(body: RequeueWish, acting: ActingAdmin) -> RequeuedView:
    """Restart a failed or running job, or all failed jobs. A running job is taken from its worker. Admins only."""
    if body.job is None:
        return RequeuedView(requeued=failed_scores.restart_failed(acting))
    failed_jobs.restart(acting, body.job)
    return RequeuedView(requeued=1)


@router.post("/pauses")
def pause(body: PauseWish, acting: ActingAdmin) -> Sequence[ListedPause]:
    """Pause or resume a queue, a competition's jobs or a worker. Running jobs continue, and waiting jobs keep their
    positions. The response lists all current pauses. Admins only."""
    subject = pauses.PauseSubject(body.queue, body.competition, body.worker)
    pauses.set_paused(acting, subject, paused=body.paused, reason=body.reason)
    return list_pauses(acting.session)
