"""What participants may download, as the API tells it."""

from datetime import datetime

from pydantic import BaseModel, Field


class DataFileView(BaseModel):
    """A file of a competition."""

    name: str
    bytes: int
    sha256: str
    offered_at: datetime
    url: str = Field(description="Where it is, for whoever has accepted the rules.")
