"""Schemas of queues and of running and failed jobs, for admins."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.http.views import Request


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


class PauseView(BaseModel):
    """A pause that holds: of a queue, a competition or a worker."""

    queue: str | None
    competition: str | None
    worker: str | None
    reason: str
    author: str | None
    created_at: datetime


class QueueView(BaseModel):
    """A queue with jobs."""

    queue: str
    waiting: int
    due: int
    oldest_due_at: datetime | None = Field(description="When the oldest due job became due.")
    running: int
    lost: int = Field(description="Running jobs whose worker has not renewed its lease in time; the sweep frees them.")


class JobView(BaseModel):
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


class UnfinishedJobsView(BaseModel):
    """All unfinished jobs."""

    queues: list[QueueView]
    running: list[JobView]
    pauses: list[PauseView] = Field(description="What takes no jobs for now.")
    failed: list[JobView] = Field(description="Jobs that are not tried again and that no later job has replaced.")
