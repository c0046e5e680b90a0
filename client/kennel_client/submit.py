"""The steps of submitting an entry: begin an upload, check a zip locally, upload the missing part."""

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from kennel_client.api import segment
from kennel_client.archive.listing import ImageSpec, refuse_generator
from kennel_client.archive.zip_check import ZipCheck, check_zip
from kennel_client.errors import Invalid, Refused
from kennel_client.resumable import ResumableUpload, Waiting, upload
from kennel_client.steps import LocalWork, Operation, Request, get

CHECKING, UPLOADING = "checking", "uploading"
FILE_FAULT_STATUSES = frozenset({413, 422})
"""HTTP statuses that mean that an uploaded file is at fault."""
StageProgress = Callable[[str, float], None]
"""Called with a stage and its finished share."""


def begin_upload(resumable: ResumableUpload) -> Operation[dict[str, Any]]:
    """Begin a new upload, or resume the stored one. Most refusals happen here, before the slower check of a zip."""
    try:
        return (yield from resumable.pending.begin())
    except Refused as refusal:
        if refusal.slug == "key-reused":  # the service now takes uploads with another method
            resumable.forget()
        raise


def finish_upload(
    resumable: ResumableUpload,
    state: dict[str, Any],
    file: BinaryIO,
    *,
    progress: StageProgress,
    check: bool,
    waiting: Waiting = lambda _reason: None,
) -> Operation[str]:
    """Check a zip of images if none of it has arrived yet, and upload the rest; returns the ID of the entry. If the zip
    has faults, cancels the upload and raises ``Invalid``.
    """
    pending = resumable.pending
    if check and state["state"] == "receiving" and state["offset"] == 0:
        try:
            competition = yield from get(f"/competitions/{segment(pending.slug)}")
            if competition["entries"] == "images":
                yield from check_images(competition, file, progress, file_name=pending.file_name)
        except Invalid:
            yield Request("DELETE", f"/uploads/{state['id']}", headers={"Tus-Resumable": "1.0.0"})
            resumable.forget()
            raise
    try:
        submission = yield from upload(
            pending, file, lambda sent, total: progress(UPLOADING, sent / max(total, 1)), waiting=waiting
        )
    except Refused as refusal:
        if refusal.status in FILE_FAULT_STATUSES:
            resumable.forget()
        raise
    resumable.forget()
    return submission


def check_images(
    competition: Mapping[str, Any], file: BinaryIO, progress: StageProgress, *, file_name: str
) -> Operation[ZipCheck]:
    """Check a zip against the image specification of a competition; raises ``Invalid``."""
    spec = ImageSpec(count=competition["image_count"], size=competition["image_size"])
    refuse_generator(file, file_name, spec)
    checked: ZipCheck = yield LocalWork(lambda: check_zip(file, spec, to_share_callback(progress)))
    return checked


def to_share_callback(progress: StageProgress) -> Callable[[int, int], None]:
    """Convert a check's (done, total) into its finished share."""
    return lambda done, total: progress(CHECKING, done / max(total, 1))
