"""The steps of handing in an entry: begin an upload, check the zip locally, upload what has not arrived yet."""

from collections.abc import Callable
from typing import Any, BinaryIO

from kennel_client.api import segment
from kennel_client.archive.listing import ImageSpec
from kennel_client.archive.zip_check import ZipCheck, check_zip
from kennel_client.errors import Invalid, Refused
from kennel_client.resumable import ResumableUpload, Waiting, upload
from kennel_client.steps import LocalWork, Operation, Request, get

CHECKING, UPLOADING = "checking", "uploading"
ZIP_FAULT_STATUSES = frozenset({413, 422})
"""HTTP statuses that, in answer to an upload, mean that the zip is at fault."""
StageProgress = Callable[[str, float], None]
"""Called with a stage and its finished share."""


def begin_upload(resumable: ResumableUpload) -> Operation[dict[str, Any]]:
    """Begin a new upload, or resume the stored one. Whatever can be refused without the bytes is refused here, before
    the check, which takes longer."""
    try:
        return (yield from resumable.pending.begin())
    except Refused as refusal:
        if refusal.slug == "key-reused":  # the service now takes uploads by another method
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
    """Check the zip if none of it has arrived yet, and upload the rest; returns the id of the entry. If the zip has
    faults, the upload is cancelled and ``Invalid`` raised."""
    if check and state["state"] == "receiving" and state["offset"] == 0:
        try:
            yield from check_images(resumable.pending.slug, file, progress)
        except Invalid:
            yield Request("DELETE", f"/uploads/{state['id']}", headers={"Tus-Resumable": "1.0.0"})
            resumable.forget()
            raise
    try:
        submission = yield from upload(
            resumable.pending, file, lambda sent, total: progress(UPLOADING, sent / max(total, 1)), waiting=waiting
        )
    except Refused as refusal:
        if refusal.status in ZIP_FAULT_STATUSES:
            resumable.forget()
        raise
    resumable.forget()
    return submission


def check_images(slug: str, file: BinaryIO, progress: StageProgress) -> Operation[ZipCheck]:
    """Check a zip by the image specification of a competition; raises ``Invalid``."""
    competition = yield from get(f"/competitions/{segment(slug)}")
    spec = ImageSpec(count=competition["image_count"], size=competition["image_size"])
    checked: ZipCheck = yield LocalWork(lambda: check_zip(file, spec, share_of(progress)))
    return checked


def share_of(progress: StageProgress) -> Callable[[int, int], None]:
    """The progress of a check, of which so many images are done."""
    return lambda done, total: progress(CHECKING, done / max(total, 1))
