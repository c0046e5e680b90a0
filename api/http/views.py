"""The base classes of request bodies, and of pages of lists; descriptions that several schemas share."""

from pydantic import BaseModel, ConfigDict, Field

INTERVAL_COVERAGE = (
    "How many of 1,000 simulated intervals of a value ± 1.96 standard errors held, as a share, where that is not"
    " between 0.93 and 0.97; null where it is, and where nobody has counted."
)
"""The description of a field: how often the intervals of a number hold."""


class Request(BaseModel):
    """A request body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Page(BaseModel):
    """A part of a list."""

    next_after: int | None = Field(description="Pass as `after` for the next page; null at the end.")
