"""The base classes of request bodies, and of pages of lists."""

from pydantic import BaseModel, ConfigDict, Field, computed_field


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
