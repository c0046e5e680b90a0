"""The base class of request bodies."""

from pydantic import BaseModel, ConfigDict


class Request(BaseModel):
    """A request body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")
