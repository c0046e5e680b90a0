"""Requests and responses of uploads."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.schemas import Request

NOTE, NAME = 2000, 200


class NewUpload(Request):
    """What somebody promises to upload."""

    length: int = Field(ge=1, le=2**62, description="Bytes of the zip.")
    file_name: str = Field("submission.zip", max_length=NAME)
    note: str = Field("", max_length=NOTE)
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="Of the zip, in hex: checked at the end.")
    benchmark: str | None = Field(None, min_length=1, max_length=100, description="Organizers only.")
    method: Literal["tus", "put"] | None = Field(
        None, description="`put` straight to the store, where the service offers that; null takes what it offers."
    )


class UploadProblem(BaseModel):
    """Why an upload was refused for good."""

    type: str
    title: str
    faults: list[str]


class UploadView(BaseModel):
    """How to upload, how far it is, and what became of it."""

    id: str
    competition: str
    method: Literal["tus", "put", "wire"]
    url: str | None = Field(
        description="`tus`: speak tus 1.0.0 to this address. `put`: PUT the zip to this address, with no header that "
        "names who you are, then POST `complete`. Null when there is nothing left to upload."
    )
    state: Literal["receiving", "finishing", "done", "refused"]
    file_name: str
    note: str
    length: int
    offset: int = Field(description="Bytes that are safe.")
    expires_at: datetime
    submission: str | None = Field(description="The id of the submission that was made of it.")
    problem: UploadProblem | None
