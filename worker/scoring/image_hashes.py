"""Hashes of the images of an entry, by which it is compared with other teams' entries: made once, kept in the store."""

import numpy as np
from numpy.typing import NDArray

from scorer.archive import PixelHashes, hash_pixels, mirror_images
from scorer.db.tables import Submission
from scorer.metrics.copying.perceptual_hashes import perceptual_hashes
from scorer.metrics.copying.shared_images import ImageHashes
from worker.runtime.context import WorkerContext
from worker.scoring.reference_features import read_array, write_array


def store_hashes(context: WorkerContext, submission: Submission, images: NDArray[np.uint8], hashes: PixelHashes) -> str:
    """Store the hashes of an entry's images (n, s, s, 3) with these pixel hashes (n, 16); returns the blob's key."""
    key = f"image-hashes/{submission.id}.npy"
    mirrored = hash_pixels(mirror_images(images))
    write_array(context, key, ImageHashes.of(hashes, mirrored, perceptual_hashes(images)).array)
    return key


def load_hashes(context: WorkerContext, key: str) -> ImageHashes:
    """Stored hashes, memory-mapped; ``NotFound`` if the blob is gone."""
    return ImageHashes(read_array(context, key))
