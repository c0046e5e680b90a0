"""Thumbnails and perceptual hashes of reference images: they reveal altered copies that features miss."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from scorer.extractors import Features
from scorer.metrics.copying.near_duplicates import Originals
from scorer.metrics.copying.near_hashes import hash_originals
from scorer.metrics.copying.perceptual_hashes import PerceptualHashes, have_hashes, perceptual_hashes
from scorer.metrics.copying.thumbnails import Pixels, thumbnail_originals, thumbnails_of
from scorer.metrics.features import Vector
from scorer.progress import ProgressCallback
from worker.scoring.feature_cache import ArrayCache, Arrays, no_cache

LoadImages = Callable[[], Pixels]


@dataclass(frozen=True, eq=False)
class ReferenceThumbnails:
    """Thumbnails of the training images (m, 192) in canonical order and of their mirror images, and their perceptual
    hashes (m, 8)."""

    training: Features
    mirrored: Features
    hashes: PerceptualHashes
    held_out: Vector | None = None
    """The distance of each held-out image to the nearest training image, (n,); None without held-out images."""
    held_out_by_hash: Vector | None = None
    """The same for perceptual hashes; also None if too few training images have one."""

    def originals(self, thumbnails: Features, progress: ProgressCallback) -> Originals:
        """The nearest training image, upright or mirrored, of thumbnails (n, 192)."""
        return thumbnail_originals(thumbnails, self.training, self.mirrored, progress=progress)


def load_reference_thumbnails(
    training: LoadImages, held_out: LoadImages | None, *, cache: ArrayCache = no_cache
) -> ReferenceThumbnails:
    """Compute thumbnails, or take them from ``cache``. Images are loaded only if they are needed."""

    def make() -> Arrays:
        images = training()
        upright, turned = thumbnails_of(images), thumbnails_of(images, mirrored=True)
        return {"upright": upright, "turned": turned, "hashes": perceptual_hashes(images)}

    arrays = cache("thumbnails", make)
    thumbnails = ReferenceThumbnails(arrays["upright"], arrays["turned"], arrays["hashes"])
    if held_out is None:
        return thumbnails
    load = held_out

    def find_distances() -> Arrays:
        return {"distance": thumbnails.originals(thumbnails_of(load()), lambda _share: None).distance}

    def find_distances_by_hash() -> Arrays:
        return {"distance": hash_originals(perceptual_hashes(load()), thumbnails.hashes).distance}

    by_hash = None
    if have_hashes(thumbnails.hashes).sum() >= 2:
        by_hash = cache("held-out-hashes", find_distances_by_hash)["distance"]
    distances = cache("held-out-thumbnails", find_distances)["distance"]
    return replace(thumbnails, held_out=distances, held_out_by_hash=by_hash)
