"""What is stored of an entry's images when they have been checked or drawn: a sprite sheet, and hashes for comparisons
with training images and with other teams' entries."""

import hashlib
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scorer import clamd
from scorer.archive import PixelHashes, TrainingImageCopies, find_training_image_copies, hash_pixels, mirror_images
from scorer.archive.pixel_hashes import Images
from scorer.archive.sprite_sheet import build_sprite_sheet
from scorer.db.tables import ReferenceSet, Submission
from scorer.metrics.copying.perceptual_hashes import perceptual_hashes
from scorer.metrics.copying.shared_images import ImageHashes
from scorer.progress import StageProgress
from scorer.submissions.files import compared_kind, stored_zip
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.scoring.reference_features import SetAddress, load_pixel_hashes, read_array, write_array


def require_clean(context: WorkerContext, submission: Submission) -> None:
    """Raise ``Invalid`` if the malware scanner finds something in the uploaded file."""
    if context.settings.clamd is not None:
        with context.blobs.open(stored_zip(submission).key) as file:
            clamd.require_clean(context.settings.clamd, file)


def find_copies(
    context: WorkerContext, submission: Submission, training: ReferenceSet, *, hashes: PixelHashes
) -> TrainingImageCopies:
    exact, mirrored = load_pixel_hashes(
        context, SetAddress(training.sha256, training.blob_key, submission.competition.image_size)
    )
    return find_training_image_copies(hashes, exact, mirrored)


def store_sprite_sheet(context: WorkerContext, submission: Submission, draws: Sequence[Images]) -> str:
    """Store a sprite sheet of a sample of the images, from each draw equally many; returns the blob's key. The sample
    is the same in every try."""
    key = f"sprites/{submission.id}.png"
    rng = np.random.default_rng(int(stored_zip(submission).sha256, 16))
    context.blobs.write(key, build_sprite_sheet(draws, rng))
    return key


def content_sha256(hashes: PixelHashes) -> str:
    """A hash of the pixels that depends neither on the images' names nor on their order."""
    return hashlib.sha256(b"".join(sorted(row.tobytes() for row in hashes))).hexdigest()


def store_hashes(
    context: WorkerContext, submission: Submission, images: NDArray[np.uint8], *, hashes: PixelHashes
) -> str:
    """Store the hashes of an entry's images (n, s, s, 3) with these pixel hashes (n, 16); returns the blob's key."""
    key = f"image-hashes/{submission.id}.npy"
    mirrored = hash_pixels(mirror_images(images))
    write_array(context, key, ImageHashes.of(hashes, mirrored, perceptual_hashes(images)).array)
    return key


def load_hashes(context: WorkerContext, key: str) -> ImageHashes:
    """Stored hashes, memory-mapped; ``NotFound`` if the blob is gone."""
    return ImageHashes(read_array(context, key))


def hash_draw(context: WorkerContext, submission: Submission, progress: StageProgress) -> str:
    """Store the hashes of the images that are compared with other entries': those of the zip, or of the first private
    draw; returns the blob's key."""
    stored = decoded_images.load_image_zips(context, submission, compared_kind(submission))[0]
    images = decoded_images.submission_images(context, submission, partial(progress, "decoding"), stored=stored)
    return store_hashes(context, submission, images, hashes=hash_pixels(images))
