"""Decoded images in the scratch folder: written once by the deep check, mapped by every track's scoring."""

import contextlib
import time
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from scorer.archive import ImageSpec, PixelHashes, check_images, list_images
from scorer.blobs import Blobs
from worker.measuring import Progress

PIXELS = "pixels"
KEPT_SECONDS = 24 * 3600
"""They are removed after the last track; this is for those of jobs that ended otherwise."""


def path_of(scratch: Path, submission_id: str) -> Path:
    """Where a submission's images are kept."""
    return scratch / PIXELS / f"{submission_id}.npy"


def decode(blobs: Blobs, blob_key: str, spec: ImageSpec, path: Path, progress: Progress) -> PixelHashes:
    """Check and decode a zip into one uint8 array (n, h, w, 3) at ``path``, whole or not at all.

    Returns the hash of each image in canonical order; ``Invalid`` lists the first faults by name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".npy.{uuid4().hex}")
    shape = (spec.count, spec.size, spec.size, 3)
    try:
        with blobs.open(blob_key) as file:
            listing = list_images(file, spec)
            images = np.lib.format.open_memmap(draft, mode="w+", dtype=np.uint8, shape=shape)
            hashes = check_images(
                file, listing, spec, images, progress=lambda done, of: progress("checking", done / of)
            )
            images.flush()
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
    return hashes


def images_of(
    scratch: Path,
    submission_id: str,
    blobs: Blobs,
    blob_key: str,
    spec: ImageSpec,
    progress: Progress,
) -> NDArray[np.uint8]:
    """A submission's images, memory-mapped; decoded again where another machine did the check."""
    path = path_of(scratch, submission_id)
    if not path.is_file():
        decode(blobs, blob_key, spec, path, progress)
    images: NDArray[np.uint8] = np.load(path, mmap_mode="r")
    return images


def remove_old(scratch: Path) -> None:
    """Remove images that nobody has removed in time."""
    oldest = time.time() - KEPT_SECONDS
    for path in (scratch / PIXELS).glob("*.npy*"):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime < oldest:
                path.unlink()
