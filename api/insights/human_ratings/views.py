"""Schemas of human ratings: studies, their items, and ratings."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from api.http.views import Page, RecordView, Request
from scorer.insights.human_ratings import MAX_BATCH_LENGTH, MeanRating, RatingKind


class NewRater(Request):
    """A rater to invite."""

    name: str = Field(min_length=1, max_length=100, description="A name that organizers see. Data releases omit it.")


class InvitedView(BaseModel):
    """An invited rater. No other response contains the link."""

    id: int
    name: str
    link: str


class KindView(BaseModel):
    """The progress of one kind of rating, and the agreement of its raters."""

    kind: RatingKind
    items: int
    ratings: int
    wanted: int
    agreement: float | None = Field(
        description="Krippendorff's alpha for interval data. 1 means full agreement, 0 agreement by chance."
    )


class StudyView(RecordView):
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
    means: Sequence[MeanRating] | None = Field(None, description="The mean ratings. Lists of studies omit them.")


class StudyPage(Page):
    studies: list[StudyView]


class ItemView(BaseModel):
    """An item to rate. Nothing in it identifies its submission."""

    id: int
    png: str = Field(description="The PNG in base64.")


class BatchView(BaseModel):
    """The next items to rate, and your progress."""

    items: list[ItemView]
    rated: int = Field(description="The number of items of this kind that you have rated.")


class NewRatings(Request):
    """Ratings from 1 to 5 by item ID, and the number of further items to send."""

    kind: RatingKind
    ratings: dict[Annotated[int, Field(ge=1, le=2**62)], Annotated[int, Field(ge=1, le=5)]] = Field(
        max_length=MAX_BATCH_LENGTH
    )
    at_hand: list[Annotated[int, Field(ge=1, le=2**62)]] = Field(
        [], max_length=MAX_BATCH_LENGTH, description="The IDs of items that the rater already has."
    )
    more: int = Field(0, ge=0, le=MAX_BATCH_LENGTH, description="The number of further items to send.")
