"""The steps of ``kennel submit``: begin an upload, check the zip locally, upload what has not arrived yet."""

from typing import Any, BinaryIO

from deploy.cli.exit_codes import ZIP_FAULT_STATUSES
from deploy.cli.participant.check import check_zip
from deploy.cli.participant.resumable_state import ResumableUpload
from deploy.cli.progress import StageProgress
from deploy.client.api import Client, Refused, segment
from deploy.client.resumable import upload_resumably
from scorer.archive import ImageSpec
from scorer.errors import Invalid

UPLOADING = "uploading"


def begin_upload(client: Client, resumable: ResumableUpload) -> dict[str, Any]:
    """Begin a new upload, or resume the stored one. Whatever can be refused without the bytes is refused here, before
    the check, which takes longer."""
    try:
        return resumable.pending.begin(client)
    except Refused as refusal:
        if refusal.slug == "key-reused":  # the service now takes uploads by another method
            resumable.forget()
        raise


def is_empty(upload: dict[str, Any]) -> bool:
    """Whether no byte of the upload has arrived yet."""
    return bool(upload["state"] == "receiving" and upload["offset"] == 0)


def image_spec_of(client: Client, slug: str) -> ImageSpec:
    """The image specification of a competition."""
    competition = client.get(f"/competitions/{segment(slug)}")
    return ImageSpec(count=competition["image_count"], size=competition["image_size"])


def check_before_upload(
    client: Client, resumable: ResumableUpload, upload: dict[str, Any], file: BinaryIO, progress: StageProgress
) -> None:
    """Deep-check the zip before it is sent. If it has faults, the upload is cancelled and ``Invalid`` raised."""
    try:
        check_zip(file, image_spec_of(client, resumable.pending.slug), progress)
    except Invalid:
        client.send("DELETE", f"/uploads/{upload['id']}", headers={"Tus-Resumable": "1.0.0"})
        resumable.forget()
        raise


def upload_rest(client: Client, resumable: ResumableUpload, file: BinaryIO, progress: StageProgress) -> str:
    """Upload what has not arrived yet; returns the id of the entry."""
    try:
        submission = upload_resumably(
            client, resumable.pending, file, progress=lambda sent, total: progress(UPLOADING, sent / total)
        )
    except Refused as refusal:
        if refusal.status in ZIP_FAULT_STATUSES:
            resumable.forget()
        raise
    resumable.forget()
    return submission
