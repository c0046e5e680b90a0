"""Schemas of the publication checklist, of publishing and of its history."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.http.views import AwardBoundaryView, Request


class NewPublication(Request):
    published: bool
    final: bool = Field(
        True, description="Whether it is the final board; the provisional one still moves, and teams may appeal."
    )
    reason: str = Field(min_length=1, max_length=2000, description="Shown to everybody who competes.")
    override: str | None = Field(
        None, max_length=2000, description="Why the board is published though points are open; for the audit log."
    )
    after: str | None = Field(
        None,
        max_length=40,
        description="The `version` of the checklist that you have seen: 409 if the board or what is open is another one"
        " by now.",
    )


class PublicationView(BaseModel):
    published: bool
    final: bool = Field(description="Whether it is the final board; false: the provisional one.")
    reason: str
    created_at: datetime
    as_of: datetime = Field(description="Nothing newer is on the published final board.")


class ConcernView(BaseModel):
    """One open case of a point: an entry, or a failed job."""

    submission_id: str
    team: str = Field(description="The entry's team; of a failed job, the entry's file.")
    words: str
    evidence: str | None = Field(description="A page that shows it, a path on this site.")


class PointView(BaseModel):
    """A point of the checklist before publication."""

    name: str = Field(examples=["medals"])
    title: str
    passed: bool
    count: int = Field(description="The number of open cases.")
    words: str
    link: str = Field(description="The page for working on it, a path on this site.")
    concerns: list[ConcernView] = Field(description="The first ten open cases.")


class ActView(PublicationView):
    """An act of publishing or withdrawing the private board."""

    by: str


class ZipTotalView(BaseModel):
    """How many zips, and their bytes."""

    zips: int
    bytes: int


class RemovedZipsView(ZipTotalView):
    last_at: datetime | None = Field(description="When the last one left.")


class ZipRetentionView(BaseModel):
    """Which zips of entries leave after the publication. Those of winning teams and of benchmarks stay, and those that
    somebody has reviewed, labelled, ruled on or appealed for; hashes, scores and evidence stay of all."""

    kept_days: int | None = Field(description="From the publication on, as the operator has set it; null: all stay.")
    leave_from: datetime | None = Field(description="Null before the publication, and where all stay.")
    stored: ZipTotalView
    leaving: ZipTotalView = Field(description="Of those stored: those that leave then, as things are now.")
    removed: RemovedZipsView


class ChecklistView(BaseModel):
    """The checklist, the history of publishing and withdrawing, and the retention of zips."""

    published: bool
    version: str = Field(description="Send it as `after` to publish what this shows, and nothing else.")
    ready: bool = Field(description="Whether nothing is open.")
    points: list[PointView]
    boundaries: list[AwardBoundaryView] = Field(description="What the medals and prizes hang on, best first.")
    history: list[ActView]
    zips: ZipRetentionView
