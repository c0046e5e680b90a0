"""Schemas of resumable uploads, and how responses are made."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.http.views import Page, RecordView, Request
from scorer.blobs import Blobs
from scorer.db.tables import Upload
from scorer.submissions.uploads import staged_key

MAX_NOTE_LENGTH, MAX_NAME_LENGTH = 2000, 200


class NewUpload(Request):
    """The announcement of an upload."""

    length: int = Field(ge=1, le=2**62, description="Bytes of the zip.")
    file_name: str = Field("submission.zip", max_length=MAX_NAME_LENGTH)
    note: str = Field("", max_length=MAX_NOTE_LENGTH)
    sha256: str | None = Field(None, pattern="^[0-9a-f]{64}$", description="Of the zip, in hex: checked at the end.")
    benchmark: str | None = Field(None, min_length=1, max_length=100, description="Organizers only.")
    method: Literal["tus", "put"] | None = Field(
        None,
        description="`put` straight to the store, where the service offers that; null takes what it offers. Where "
        "the free bytes of the competition are few, the answer to either is `tus`.",
    )


class UploadNote(Request):
    """The note of an upload."""

    note: str = Field(max_length=MAX_NOTE_LENGTH)


class UploadProblem(BaseModel):
    """Why an upload was refused for good."""

    type: str
    title: str
    faults: list[str]


class UploadView(RecordView):
    """An upload: where to send the bytes, how many have arrived, and its outcome."""

    id: str
    competition: str
    method: Literal["tus", "put", "wire"]
    url: str | None = Field(
        description="`tus`: use tus 1.0.0 at this address. `put`: PUT the zip to this address, without an "
        "`Authorization` header, then POST `complete`. Null when there is nothing left to upload."
    )
    state: Literal["receiving", "finishing", "done", "refused"]
    file_name: str
    note: str
    described: str = Field(description="The header `Upload-Metadata` of tus, as the client sent it.")
    length: int
    offset: int = Field(description="Bytes that are stored.")
    expires_at: datetime
    submission: str | None = Field(description="The id of the submission that was made of it.")
    problem: UploadProblem | None


class UploadPage(Page):
    uploads: list[UploadView]


def upload_path_of(upload: Upload) -> str:
    """The path of an upload; without a host, so that it is right behind every proxy."""
    return f"/api/v1/uploads/{upload.id}"


def upload_view(upload: Upload, store: Blobs, now: datetime) -> UploadView:
    """An upload as its team sees it."""
    problem = upload.problem
    finishing = upload.state == "receiving" and upload.completed_at is not None
    fields = {
        "competition": upload.competition.slug,
        "state": "finishing" if finishing else upload.state,
        "offset": upload.received,
        "url": _url(upload, store, now) if upload.completed_at is None else None,
        "submission": upload.submission.id if upload.submission is not None else None,
        "problem": problem
        and UploadProblem(
            type=f"urn:kennel:problem:{problem['slug']}", title=problem["message"], faults=problem["faults"]
        ),
    }
    return UploadView.of(upload, **fields)


def _url(upload: Upload, store: Blobs, now: datetime) -> str | None:
    if upload.method == "tus":
        return upload_path_of(upload)
    if upload.method == "put" and upload.expires_at > now:
        return store.presigned_put(staged_key(upload.id), upload.length, upload.expires_at - now)
    return None
