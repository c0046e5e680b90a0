"""The feature cache: features, hashes and thumbnails of an entry, kept between its score and its evidence.

A lost blob costs only time: it is computed again from the zip. The address contains the weights and the version of
evidence, so a change of either also causes a new computation.
"""

import io
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorer.archive import PixelHashes, hash_pixels, mirror_images
from scorer.db.tables import Submission, Track
from scorer.errors import NotFound
from scorer.extractors import Features, fingerprint
from scorer.findings.finding import EVIDENCE_VERSION
from scorer.metrics.copying.thumbnails import thumbnails_of
from scorer.progress import StageProgress
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext, build_extractor_options

Arrays = Mapping[str, NDArray[Any]]
ArrayCache = Callable[[str, Callable[[], Arrays]], Arrays]
"""Returns the arrays stored under a name, or computes and stores them."""


def no_cache(_name: str, make: Callable[[], Arrays]) -> Arrays:
    return make()


log = logging.getLogger(__name__)
FOLDER = "entry-features"
FEATURES_LIFETIME = timedelta(days=7)
"""For entries with failed or missing evidence."""


class CachedFeatures(NamedTuple):
    """Features, hashes and thumbnails of n images in canonical order: those of a zip, or of a generator's first draw on
    a track."""

    features: Features
    """(draws * n, d), of all draws on the track."""
    hashes: PixelHashes
    """(n, 16), of the pixels."""
    mirrored_hashes: PixelHashes
    """(n, 16), of their mirror images."""
    thumbnails: Features
    """(n, 192)"""


def build_cached_features(images: NDArray[np.uint8], features: Features) -> CachedFeatures:
    """The cached data of images (n, s, s, 3) uint8, with the features (draws * n, d) of all draws."""
    hashes, mirrored = hash_pixels(images), hash_pixels(mirror_images(images))
    return CachedFeatures(features, hashes, mirrored, thumbnails_of(images))


def _key(context: WorkerContext, submission: Submission, track_id: int | None, *, identity: str) -> str:
    extractor = fingerprint(identity, build_extractor_options(context.settings))[:16]
    return f"{FOLDER}/{submission.id}/{track_id}-{extractor}-{EVIDENCE_VERSION}.npz"


def store_features(
    context: WorkerContext,
    submission: Submission,
    track_id: int | None,
    *,
    identity: str,
    images: NDArray[Any],
    features: Sequence[Features],
) -> None:
    """Store the features of each draw, and what else is cached of the ``images`` of the first one. A later measurement
    with the same extractor (``name@version``) overwrites them."""
    buffer = io.BytesIO()
    np.savez(buffer, **build_cached_features(images, np.concatenate(features))._asdict())
    context.blobs.write(_key(context, submission, track_id, identity=identity), buffer.getvalue())


def load_features(
    context: WorkerContext, submission: Submission, track: Track, *, identity: str, progress: StageProgress
) -> CachedFeatures:
    """An entry's features on a track, from the cache or computed again with the extractor ``name@version``."""
    try:
        content = context.blobs.read(_key(context, submission, track.id, identity=identity))
    except NotFound:
        log.info("the features of %s have been removed and are computed again", submission.id)
        draws = decoded_images.load_draws(context, submission, track.images_of, progress=progress)
        extractor = context.extractor(identity)
        features = [
            extractor.features(images, progress=lambda fraction: progress("features", fraction)) for images in draws
        ]
        return build_cached_features(draws[0], np.concatenate(features))
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return CachedFeatures(*(arrays[name] for name in CachedFeatures._fields))


def delete_features(context: WorkerContext, submission: Submission, track_id: int | None, *, identity: str) -> None:
    context.blobs.delete(_key(context, submission, track_id, identity=identity))


def delete_expired_features(context: WorkerContext) -> int:
    """Delete features older than ``FEATURES_LIFETIME``; returns the number of blobs."""
    count = 0
    for expired in context.blobs.older_than(FOLDER, context.now() - FEATURES_LIFETIME):
        context.blobs.delete_all(expired)
        count += len(expired)
    return count
