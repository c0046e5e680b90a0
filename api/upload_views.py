"""An upload as its owner sees it."""

from datetime import datetime

from api.upload_schemas import UploadProblem, UploadView
from scorer.blobs import Blobs
from scorer.db.tables import Upload
from scorer.submissions.uploads import staged_key


def address_of(upload: Upload) -> str:
    """Where the upload is spoken with. Without a host, so that it holds behind every proxy."""
    return f"/api/v1/uploads/{upload.id}"


def view_of(upload: Upload, store: Blobs, now: datetime) -> UploadView:
    """How far it is and how to go on."""
    problem = upload.problem
    finishing = upload.state == "receiving" and upload.completed_at is not None
    fields = {name: getattr(upload, name, None) for name in UploadView.model_fields}
    fields |= {
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
    return UploadView.model_validate(fields)


def _url(upload: Upload, store: Blobs, now: datetime) -> str | None:
    if upload.method == "tus":
        return address_of(upload)
    if upload.method == "put" and upload.expires_at > now:
        return store.presigned_put(staged_key(upload.id), upload.expires_at - now)
    return None
