"""Schemas of resumable uploads."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.http.latents import CLASSES, DIMENSION, DISTRIBUTION
from api.http.views import Page, RecordView, Request
from scorer.blobs import Blobs
from scorer.db.tables import Upload
from scorer.generators.onnx_files import Distribution
from scorer.submissions.uploads import is_repeated, staged_key

MAX_NOTE_LENGTH, MAX_NAME_LENGTH = 2000, 200
DEFAULT_NAME = "The file name to show. Default: `submission.zip` or `submission.onnx`."


class NewUpload(Request):
    """An upload to begin."""

    length: int = Field(ge=0, le=2**62, description="The size of the file in bytes.")
    file_name: str = Field("", max_length=MAX_NAME_LENGTH, description=DEFAULT_NAME)
    note: str = Field("", max_length=MAX_NOTE_LENGTH)
    sha256: str | None = Field(
        None, pattern="^[0-9a-f]{64}$", description="The SHA-256 of the file in hex, to check at the end."
    )
    benchmark: str | None = Field(
        None, min_length=1, max_length=100, description="The name of a benchmark entry. For organizers only."
    )
    latent: int | None = Field(None, description=DIMENSION)
    distribution: Distribution | None = Field(None, description=DISTRIBUTION)
    classes: int | None = Field(None, description=CLASSES)
    method: Literal["tus", "put"] | None = Field(
        None,
        description="`put` uploads directly to the store if the service supports it; null means `put` if supported, "
        "otherwise `tus`. If the competition has little free space, the service always chooses `tus`.",
    )


class UploadNote(Request):
    """The note of an upload."""

    note: str = Field(max_length=MAX_NOTE_LENGTH)


class UploadProblem(BaseModel):
    """The reason why an upload was refused permanently."""

    type: str
    title: str
    faults: list[str]


class UploadView(RecordView):
    """An upload: the address for its bytes, its progress and its outcome."""

    id: str
    competition: str
    method: Literal["tus", "put", "wire"]
    url: str | None = Field(
        description="`tus`: use tus 1.0.0 at this address. `put`: PUT the file to this address, without an "
        "`Authorization` header, then POST `complete`. Null if all bytes have arrived."
    )
    state: Literal["receiving", "finishing", "done", "refused"]
    file_name: str
    note: str
    described: str = Field(description="The tus header `Upload-Metadata`, as the client sent it.")
    length: int
    offset: int = Field(description="The number of stored bytes.")
    expires_at: datetime
    submission: str | None = Field(description="The ID of the resulting submission.")
    repeated: bool = Field(description="Whether this submission is an earlier one of your team with the same file.")
    problem: UploadProblem | None


class UploadPage(Page):
    uploads: list[UploadView]


def build_upload_path(upload: Upload) -> str:
    """The path of an upload, without a host: it also works behind proxies."""
    return f"/api/v1/uploads/{upload.id}"


def upload_view(upload: Upload, store: Blobs, now: datetime) -> UploadView:
    problem = upload.problem
    finishing = upload.state == "receiving" and upload.completed_at is not None
    fields = {
        "competition": upload.competition.slug,
        "state": "finishing" if finishing else upload.state,
        "offset": upload.received,
        "url": _url(upload, store, now) if upload.completed_at is None else None,
        "submission": upload.submission.id if upload.submission is not None else None,
        "repeated": is_repeated(upload),
        "problem": problem
        and UploadProblem(
            type=f"urn:kennel:problem:{problem['slug']}", title=problem["message"], faults=problem["faults"]
        ),
    }
    return UploadView.of(upload, **fields)


def _url(upload: Upload, store: Blobs, now: datetime) -> str | None:
    if upload.method == "tus":
        return build_upload_path(upload)
    if upload.method == "put" and upload.expires_at > now:
        return store.presigned_put(staged_key(upload.id), upload.length, upload.expires_at - now)
    return None
