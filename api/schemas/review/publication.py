"""The publication checklist and the act: requests and responses."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.schemas.base import Request


class NewPublication(Request):
    published: bool
    reason: str = Field(min_length=1, max_length=2000, description="Told to everybody who competes.")
    override: str | None = Field(
        None, max_length=2000, description="Why the board is published though points are open; for the audit log."
    )


class PublicationView(BaseModel):
    published: bool
    reason: str
    created_at: datetime


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
