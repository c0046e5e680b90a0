"""Handing an entry in: ask, check here, upload so that nothing that has arrived is sent twice."""

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


def begin_upload(client: Client, memory: ResumableUpload) -> dict[str, Any]:
    """The upload: a new one, or the one that is remembered. Everything that can be refused without the bytes is refused
    now, before anybody waits for a check."""
    try:
        return memory.promise.begin(client)
    except Refused as refusal:
        if refusal.slug == "key-reused":  # the service takes uploads in another way by now
            memory.forget()
        raise


def is_empty(upload: dict[str, Any]) -> bool:
    """Whether nothing of it has arrived yet."""
    return bool(upload["state"] == "receiving" and upload["offset"] == 0)


def image_spec_of(client: Client, slug: str) -> ImageSpec:
    """What a competition asks for."""
    competition = client.get(f"/competitions/{segment(slug)}")
    return ImageSpec(count=competition["image_count"], size=competition["image_size"])


def check_before_upload(
    client: Client, memory: ResumableUpload, upload: dict[str, Any], file: BinaryIO, progress: StageProgress
) -> None:
    """Look at the zip here before it is sent. With faults, the upload is given up and ``Invalid`` raised."""
    try:
        check_zip(file, image_spec_of(client, memory.promise.slug), progress)
    except Invalid:
        client.send("DELETE", f"/uploads/{upload['id']}", headers={"Tus-Resumable": "1.0.0"})
        memory.forget()
        raise


def upload_rest(client: Client, memory: ResumableUpload, file: BinaryIO, progress: StageProgress) -> str:
    """Upload what has not arrived yet; the id of the entry."""
    try:
        submission = upload_resumably(
            client, memory.promise, file, progress=lambda sent, total: progress(UPLOADING, sent / total)
        )
    except Refused as refusal:
        if refusal.status in ZIP_FAULT_STATUSES:
            memory.forget()
        raise
    memory.forget()
    return submission
