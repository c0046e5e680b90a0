"""What a stream of events says."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.schemas import ProvisionalView
from scorer.lifecycle import Status


class StateView(BaseModel):
    """Where a submission is. ``scored`` speaks of the public track, and is the last that a stream tells."""

    status: Status
    at: datetime = Field(description="When it reached this status.")
    reason: str | None = Field(description="Why, where there is something to say.")
    stage: str | None
    stage_in_words: str | None
    fraction: float | None = Field(description="Of the stage, from 0 to 1.")
    queue_position: int | None
    estimate_seconds: int | None = Field(
        description="Until the check or the score is done, judged by recent ones; null if nobody can tell."
    )
    provisional: ProvisionalView | None = Field(
        description="A rough public score while the final one is computed, where the operator has switched it on."
    )
    cancellable: bool = Field(description="Whether its team can still take it back.")
    over: bool = Field(description="Whether this is its last status; the stream ends.")
