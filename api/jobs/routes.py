"""Unfinished jobs (waiting, running, failed) and restarting them, for admins."""

from datetime import datetime

from pydantic import Field

from api.http.dependencies import ActingAdmin, Admin, DbSession
from api.http.routing import ApiRouter
from api.http.views import RecordView, Request, RequeuedView
from scorer.db.jobs.pauses import list_pauses
from scorer.jobs import failed_jobs, pauses
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


class PauseView(RecordView):
    """A pause that holds: of a queue, a competition or a worker."""

    queue: str | None
    competition: str | None
    worker: str | None
    reason: str
    author: str | None
    created_at: datetime


class QueueView(RecordView):
    """A queue with jobs."""

    queue: str
    waiting: int
    due: int
    oldest_due_at: datetime | None = Field(description="When the oldest due job became due.")
    running: int
    lost: int = Field(description="Running jobs whose worker has not renewed its lease in time; the sweep frees them.")


class JobView(RecordView):
    """A job that runs or has failed."""

    id: int
    queue: str
    state: str
    competition: str | None
    track: str | None
    submission_id: str | None
    file_name: str | None
    attempts: int
    worker: str | None
    stage: str | None
    fraction: float | None
    lease_until: datetime | None
    error: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class UnfinishedJobsView(RecordView):
    """All unfinished jobs."""

    queues: list[QueueView]
    running: list[JobView]
    pauses: list[PauseView] = Field(description="What takes no jobs for now.")
    failed: list[JobView] = Field(description="Jobs that are not tried again and that no later job has replaced.")


router = ApiRouter(prefix="/admin/jobs", tags=["jobs"])


@router.get("")
def show(session: DbSession, admin: Admin) -> UnfinishedJobsView:
    """The queues with their depth and age, the running jobs, the failed ones with their errors, and what is paused."""
    return UnfinishedJobsView.model_validate(failed_jobs.read_unfinished(session))


@router.post("/requeue")
def requeue(body: RequeueWish, acting: ActingAdmin) -> RequeuedView:
    """Queue a failed job again, or a running one, which is taken from its worker; without a job, all failed ones."""
    if body.job is None:
        return RequeuedView(requeued=failed_scores.restart_failed(acting))
    failed_jobs.restart(acting, body.job)
    return RequeuedView(requeued=1)


@router.post("/pauses")
def pause(body: PauseWish, acting: ActingAdmin) -> list[PauseView]:
    """Let a queue, a competition's entries or a worker take no more jobs, or take them again. What runs goes on; what
    waits keeps its place. Returns all pauses that hold."""
    subject = pauses.PauseSubject(body.queue, body.competition, body.worker)
    pauses.set_paused(acting, subject, paused=body.paused, reason=body.reason)
    return [PauseView.model_validate(each) for each in list_pauses(acting.session)]
