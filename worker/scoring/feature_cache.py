"""What an entry's evidence needs of its scoring, kept until the evidence is there: features, hashes, thumbnails.

A lost one costs time only: it is made again from the zip.
"""

import io
import logging
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorer.archive import PixelHashes, mirror_images, pixel_hashes
from scorer.db.tables import Submission
from scorer.errors import NotFound
from scorer.extractors import Extractor, Features
from scorer.metrics.copying.thumbnails import thumbnails_of
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.progress import StageProgress

log = logging.getLogger(__name__)
FOLDER = "entry-features"
FEATURES_LIFETIME = timedelta(days=7)
"""Of those whose evidence has failed, or never came."""


class CachedFeatures(NamedTuple):
    """Of n images in canonical order."""

    features: Features
    """(n, d)"""
    hashes: PixelHashes
    """(n, 16), of the pixels."""
    mirrored_hashes: PixelHashes
    """(n, 16), of their mirror images."""
    thumbnails: Features
    """(n, 192)"""


def cached_features_of(images: NDArray[np.uint8], features: Features) -> CachedFeatures:
    """What to keep of an entry's images."""
    return CachedFeatures(features, pixel_hashes(images), pixel_hashes(mirror_images(images)), thumbnails_of(images))


def _key(submission_id: str, track_id: int | None) -> str:
    return f"{FOLDER}/{submission_id}/{track_id}.npz"


def store_features(
    context: WorkerContext, submission: Submission, track_id: int | None, images: NDArray[Any], features: Features
) -> None:
    """Store an entry's features on a track. A later measurement on that track takes the place of an earlier one."""
    buffer = io.BytesIO()
    np.savez(buffer, **cached_features_of(images, features)._asdict())
    context.blobs.write(_key(submission.id, track_id), buffer.getvalue())


def load_features(
    context: WorkerContext, submission: Submission, track_id: int | None, identity: str, progress: StageProgress
) -> CachedFeatures:
    """An entry's features on a track, as they were kept, or made again by the extractor ``name@version``."""
    try:
        content = context.blobs.read(_key(submission.id, track_id))
    except NotFound:
        log.info("the features of %s are not kept any more: they are made again", submission.id)
        return _compute_again(context, submission, context.extractor(identity), progress)
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return CachedFeatures(*(arrays[name] for name in CachedFeatures._fields))


def _compute_again(
    context: WorkerContext, submission: Submission, extractor: Extractor, progress: StageProgress
) -> CachedFeatures:
    images = decoded_images.submission_images(context, submission, lambda fraction: progress("decoding", fraction))
    return cached_features_of(
        images, extractor.features(images, progress=lambda fraction: progress("features", fraction))
    )


def delete_features(context: WorkerContext, submission: Submission, track_id: int | None) -> None:
    """Nobody needs them any more."""
    context.blobs.delete(_key(submission.id, track_id))


def delete_expired_features(context: WorkerContext) -> int:
    """Remove what has been kept for too long; how many that were."""
    old = context.blobs.older_than(FOLDER, context.now() - FEATURES_LIFETIME)
    context.blobs.delete_all(old)
    return len(old)
