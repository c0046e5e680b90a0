"""Decoded images in the scratch folder: written once by the deep check, mapped by every track's scoring."""

import contextlib
import math
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scorer.archive import ImageSpec, Listing, PixelHashes, check_images, list_images
from scorer.archive.decoder_pool import choose_process_count
from scorer.archive.reference_set import Allocate
from scorer.blobs import Blobs
from scorer.db.tables import Submission
from scorer.errors import Conflict, Unavailable
from scorer.jobs import leases
from scorer.lifecycle import TrackKind
from scorer.progress import ProgressCallback, StageProgress
from scorer.submissions.files import StoredZip, image_zips
from worker.runtime.context import WorkerContext

PIXELS = "pixels"
LIFETIME_SECONDS = 24 * 3600
"""Images are removed after the last track; this limit is for jobs that ended otherwise, or on another machine."""

IN_USE_SECONDS = 60
"""Images used within this time are not removed: another process may be about to map them."""


def build_pixels_path(scratch: Path, name: str) -> Path:
    """The file with the decoded images of a :class:`StoredZip` of this name."""
    return scratch / PIXELS / f"{name}.npy"


def build_image_spec(submission: Submission) -> ImageSpec:
    return ImageSpec(count=submission.competition.image_count, size=submission.competition.image_size)


def load_image_zips(context: WorkerContext, submission: Submission, kind: TrackKind) -> list[StoredZip]:
    """See :func:`scorer.submissions.files.image_zips`."""
    with context.sessions() as session:
        return image_zips(session, submission, kind)


def find_images(context: WorkerContext, submission: Submission) -> StoredZip | None:
    """The zip of a submission's images, or of its first public draw; None if it is not stored."""
    try:
        stored = load_image_zips(context, submission, "public")[0]
    except Conflict:
        return None
    return stored if context.blobs.exists(stored.key) else None


def image_names(context: WorkerContext, submission: Submission, kind: TrackKind = "public") -> Sequence[str]:
    """The names of a submission's images, or of those in the first draw, in canonical order."""
    with context.blobs.open(load_image_zips(context, submission, kind)[0].key) as file:
        return list_images(file, build_image_spec(submission)).names


def decode(
    blobs: Blobs, stored: StoredZip, spec: ImageSpec, *, path: Path, progress: ProgressCallback, processes: int = 0
) -> PixelHashes:
    """Check and decode a stored zip; see :func:`decode_file`. Also raises ``Invalid`` for faults in its directory, and
    ``DamagedBlob`` if it is not the uploaded zip, before the team is blamed for its content.
    """
    blobs.require_unchanged(stored.key, stored.sha256)
    path.parent.mkdir(parents=True, exist_ok=True)
    with blobs.open(stored.key) as file:
        return decode_file(file, list_images(file, spec), spec, path=path, progress=progress, processes=processes)


def decode_file(
    file: BinaryIO, listing: Listing, spec: ImageSpec, *, path: Path, progress: ProgressCallback, processes: int = 0
) -> PixelHashes:
    """Check and decode a listed zip into one uint8 array (n, h, w, 3) at ``path``, completely or not at all, in
    ``processes`` limited processes (0: in this one).

    Returns the hash of each image in canonical order. Raises ``Invalid`` with the first faults by name, ``Unavailable``
    (``no-room``) if the disk is too full.
    """
    draft = path.with_suffix(f".npy.{uuid4().hex}")
    try:
        images = new_array(draft, (spec.count, spec.size, spec.size, 3), np.uint8)
        hashes = check_images(
            file, listing, spec, out=images, processes=processes, progress=lambda done, of: progress(done / of)
        )
        images.flush()
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
    return hashes


def new_array(path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> np.memmap[Any, Any]:
    """A new array of zeros in a .npy file, mapped for reading and writing.

    Raises ``Unavailable`` (``no-room``) if the disk has no room for it: a failed write to a mapped file would kill the
    process.
    """
    needed = math.prod(shape) * np.dtype(dtype).itemsize
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise Unavailable(
            "no-room", f"The decoded images need {needed:,} bytes in {path.parent}, but only {free:,} are free."
        )
    return np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)


def arrays_in(folder: Path) -> Allocate:
    """An allocator of new arrays, each in its own file in ``folder``; see :func:`new_array`."""
    return lambda shape, dtype: new_array(folder / f"{uuid4().hex}.npy", shape, dtype)


def decode_zip(
    context: WorkerContext, stored: StoredZip, spec: ImageSpec, *, progress: ProgressCallback
) -> PixelHashes:
    """Check and decode a zip into the scratch folder; see :func:`decode`."""
    make_room(context, count_decoded_bytes(spec))
    path = build_pixels_path(context.scratch, stored.name)
    processes = choose_process_count(context.settings.decoding_processes)
    return decode(context.blobs, stored, spec, path=path, progress=progress, processes=processes)


def submission_images(
    context: WorkerContext, submission: Submission, progress: ProgressCallback, *, stored: StoredZip | None = None
) -> NDArray[np.uint8]:
    """The images of a zip of the submission; default: the first one of the public track.

    Memory-mapped; decoded again if another machine did the check, or another process has removed the images.
    """
    stored = stored or load_image_zips(context, submission, "public")[0]
    path = build_pixels_path(context.scratch, stored.name)
    images: NDArray[np.uint8]
    try:
        os.utime(path)
        images = np.load(path, mmap_mode="r")
    except FileNotFoundError:
        decode_zip(context, stored, build_image_spec(submission), progress=progress)
        images = np.load(path, mmap_mode="r")
    return images


def load_draws(
    context: WorkerContext, submission: Submission, kind: TrackKind, *, progress: StageProgress
) -> list[NDArray[np.uint8]]:
    """The images of a submission's zip, or of each draw on a track; see :func:`submission_images`."""
    return [
        submission_images(context, submission, partial(progress, "decoding"), stored=stored)
        for stored in load_image_zips(context, submission, kind)
    ]


def remove_unneeded(context: WorkerContext, claim: leases.Claim) -> None:
    """Remove the images of a job's submission, if it has one, after the last job that needs them."""
    if claim.submission_id is None:
        return
    with context.sessions() as session:
        finished = leases.is_finished(session, claim)
    if finished:
        for path in (context.scratch / PIXELS).glob(f"{claim.submission_id}*.npy"):
            path.unlink(missing_ok=True)


def count_decoded_bytes(spec: ImageSpec) -> int:
    return spec.count * spec.size * spec.size * 3


def make_room(context: WorkerContext, needed: int = 0) -> None:
    """Remove images unused for ``LIFETIME_SECONDS``, then the least recently used ones, until with ``needed`` more
    bytes no more than ``max_scratch_bytes`` remain. Processes that have mapped them continue reading; others decode
    again.
    """
    room = context.settings.max_scratch_bytes - needed
    now = time.time()
    for used_at, size, path in sorted(_files(context.scratch), reverse=True):
        room -= size
        in_use = used_at > now - IN_USE_SECONDS
        if used_at < now - LIFETIME_SECONDS or (room < 0 and not in_use):
            path.unlink(missing_ok=True)


def _files(scratch: Path) -> Iterator[tuple[float, int, Path]]:
    """The time of last use, size and path of each file of decoded images."""
    for path in (scratch / PIXELS).glob("*.npy*"):
        with contextlib.suppress(FileNotFoundError):
            status = path.stat()
            yield status.st_mtime, status.st_size, path
