"""The ``check`` job: the deep check of a submission, and hashes of its images for comparisons with other teams."""

import hashlib
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scorer import clamd
from scorer.archive import PixelHashes, find_training_image_copies, hash_pixels, mirror_images
from scorer.archive.pixel_hashes import Images
from scorer.archive.sprite_sheet import build_sprite_sheet
from scorer.db import competitions
from scorer.db.tables import Submission
from scorer.errors import Invalid
from scorer.jobs import leases
from scorer.metrics.copying.perceptual_hashes import perceptual_hashes
from scorer.metrics.copying.shared_images import ImageHashes
from scorer.submissions import outcomes
from scorer.submissions.files import stored_zip
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.recording import record_result
from worker.scoring.reference_features import (
    SetAddress,
    load_pixel_hashes,
    read_array,
    write_array,
)


def check_submission(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Decode every image, compare pixel hashes with those of the training images, then accept or reject."""
    with context.transaction() as session:
        submission = session.get_one(Submission, claim.job.submission_ref)
        training = competitions.load_references(session, submission.competition_id)["train"].reference_set
    path = decoded_images.build_pixels_path(context.scratch, submission.id)
    try:
        _require_clean(context, submission)
        hashes = decoded_images.decode_submission(context, submission, lambda fraction: heartbeat("checking", fraction))
    except Invalid as fault:
        record_result(heartbeat, outcomes.reject, fault)
        return
    exact, mirrored = load_pixel_hashes(
        context, SetAddress(training.sha256, training.blob_key, submission.competition.image_size)
    )
    copies = find_training_image_copies(hashes, exact, mirrored)
    images = np.load(path, mmap_mode="r")
    sprite_key = _store_sprite_sheet(context, submission, images)
    hashes_key = store_hashes(context, submission, images, hashes=hashes)
    content = _content_sha256(hashes)
    passed = partial(outcomes.pass_check, pixels_sha256=content, sprite_key=sprite_key, hashes_key=hashes_key)
    record_result(heartbeat, passed, copies)


def _require_clean(context: WorkerContext, submission: Submission) -> None:
    if context.settings.clamd is not None:
        with context.blobs.open(stored_zip(submission).key) as file:
            clamd.require_clean(context.settings.clamd, file)


def _store_sprite_sheet(context: WorkerContext, submission: Submission, images: Images) -> str:
    """Store a sprite sheet of a sample of the images; each try of the check uses the same sample."""
    key = f"sprites/{submission.id}.png"
    rng = np.random.default_rng(int(stored_zip(submission).sha256, 16))
    context.blobs.write(key, build_sprite_sheet(images, rng))
    return key


def _content_sha256(hashes: PixelHashes) -> str:
    """A hash of the submission's pixels that depends neither on the images' names nor on their order."""
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
