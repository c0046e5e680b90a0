"""Requests and responses about stuck work and about publishing the final board."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.schemas import PublicationView, Request


class ConcernView(BaseModel):
    """One entry behind an open point."""

    submission_id: str
    team: str = Field(description="The entry's team; of failed work, the entry's file.")
    words: str


class PointView(BaseModel):
    """One thing to have done before the final board is published."""

    name: str = Field(examples=["medals"])
    title: str
    passed: bool
    count: int = Field(description="How much of it is open.")
    words: str
    link: str = Field(description="Where it is worked on, a path on this site.")
    concerns: list[ConcernView] = Field(description="The first ten entries behind it.")


class ActView(PublicationView):
    """An act of showing the final board or taking it back."""

    by: str


class ChecklistView(BaseModel):
    """What is open before publication, and what was done so far."""

    published: bool
    ready: bool = Field(description="Whether nothing is open.")
    points: list[PointView]
    history: list[ActView]


class RequeuedView(BaseModel):
    """How many jobs were set going again."""

    requeued: int


class RequeueWish(Request):
    """Which job to set going again."""

    job: int | None = Field(None, ge=1, le=2**62, description="One job; null for all that have failed.")


class QueueView(BaseModel):
    """A queue that has work."""

    queue: str
    waiting: int
    due: int
    oldest_due_at: datetime | None = Field(description="Since when the oldest due job waits.")
    running: int
    lost: int = Field(description="Running jobs whose worker has not been heard of in time; the sweep frees them.")


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
    """All work that is not done."""

    queues: list[QueueView]
    running: list[JobView]
    failed: list[JobView] = Field(description="For good, and not replaced by a later job.")
