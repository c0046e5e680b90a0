"""The base classes of request bodies, and of pages of lists; descriptions that several schemas share."""

from pydantic import BaseModel, ConfigDict, Field, computed_field

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


class FormerlyNamedPage(Page):
    """A page whose cursor was called ``next_before`` until version 0.1."""

    # Not marked as deprecated for pydantic, which would warn whenever it is written.
    @computed_field(  # type: ignore[prop-decorator]
        description="The former name of `next_after`.", json_schema_extra={"deprecated": True}
    )
    @property
    def next_before(self) -> int | None:
        """As ``next_after``."""
        return self.next_after
