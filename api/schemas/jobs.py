"""Schemas of queues and of running and failed jobs, for admins."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.schemas.base import Request


class RequeueWish(Request):
    """Which jobs to queue again."""

    job: int | None = Field(None, ge=1, le=2**62, description="One job; null for all that have failed.")


class QueueView(BaseModel):
    """A queue with work."""

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


class BacklogView(BaseModel):
    """All unfinished work."""

    queues: list[QueueView]
    running: list[JobView]
    failed: list[JobView] = Field(description="Jobs that are not tried again and that no later job has replaced.")
