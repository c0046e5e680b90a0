"""The base of all schemas, and health."""

from pydantic import BaseModel, ConfigDict


class Request(BaseModel):
    """A body that says no more than we understand."""

    model_config = ConfigDict(extra="forbid")
