"""Requests and responses about quality ratings."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from api.schemas.base import Request
from scorer.insights.human_ratings import MAX_BATCH_LENGTH, RatingKind


class NewRater(Request):
    """Somebody to be invited."""

    name: str = Field(min_length=1, max_length=100, description="What organizers call them; never in a release.")


class InvitedView(BaseModel):
    """An invited rater; the link is shown once."""

    id: int
    name: str
    link: str


class KindView(BaseModel):
    """How much of a kind was rated, and how much raters agree."""

    kind: RatingKind
    items: int
    ratings: int
    wanted: int
    agreement: float | None = Field(description="Krippendorff's alpha, interval: 1 all agree, 0 as by chance.")


class MeanView(BaseModel):
    """What raters think of an entry, from 1 to 5."""

    submission_id: str
    team: str
    kind: RatingKind
    mean: float
    standard_error: float | None = Field(description="Of the mean, over the things that were rated.")
    items: int
    ratings: int


class StudyView(BaseModel):
    """A rating study."""

    id: int
    state: str = Field(examples=["open"])
    stage: str | None
    fraction: float | None
    error: str | None
    entries: int
    images: int
    grids: int
    side: int
    wanted: int
    created_at: datetime
    ended_at: datetime | None
    kinds: list[KindView]
    means: list[MeanView] | None = Field(None, description="Only of one study, not in a list.")


class ItemView(BaseModel):
    """One thing to rate. It says nothing about whose it is."""

    id: int
    png: str = Field(description="The picture in base64, so that a batch is one answer.")


class BatchView(BaseModel):
    """What to look at next, and how far oneself is."""

    items: list[ItemView]
    rated: int = Field(description="By oneself, of this kind.")


class NewRatings(Request):
    """What a rater says, 1 to 5 by the number of the thing; and what they want next."""

    kind: RatingKind
    ratings: dict[Annotated[int, Field(ge=1, le=2**62)], Annotated[int, Field(ge=1, le=5)]] = Field(
        max_length=MAX_BATCH_LENGTH
    )
    at_hand: list[Annotated[int, Field(ge=1, le=2**62)]] = Field(
        [], max_length=MAX_BATCH_LENGTH, description="Things that are waiting on the screen already."
    )
    more: int = Field(0, ge=0, le=MAX_BATCH_LENGTH, description="How many further things to send.")
