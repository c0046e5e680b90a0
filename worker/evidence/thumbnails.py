"""Thumbnails of the reference images, for finding near duplicates that blur hides from an extractor's features."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from scorer.extractors import Features
from scorer.metrics.copying.near_duplicates import Originals
from scorer.metrics.copying.thumbnails import Pixels, thumbnail_originals, thumbnails_of
from worker.evidence.array_cache import ArrayCache, Arrays, no_cache

LoadImages = Callable[[], Pixels]


@dataclass(frozen=True, eq=False)
class ReferenceThumbnails:
    """Thumbnails of the training images (m, 192) in canonical order, and of their mirror images."""

    training: Features
    mirrored: Features
    held_out: Originals | None
    """The training images nearest to the held-out ones; None where there are no held-out images."""

    def originals(self, thumbnails: Features, progress: Callable[[float], None]) -> Originals:
        """The nearest training image, upright or mirrored, of thumbnails (n, 192)."""
        return thumbnail_originals(thumbnails, self.training, self.mirrored, progress=progress)


def reference_thumbnails_of(
    training: LoadImages, held_out: LoadImages | None, *, cache: ArrayCache = no_cache
) -> ReferenceThumbnails:
    """Make thumbnails, or take them from ``cache``. Images are loaded only if they are needed."""

    def make() -> Arrays:
        images = training()
        return {"upright": thumbnails_of(images), "turned": thumbnails_of(images, mirrored=True)}

    arrays = cache("thumbnails", make)
    thumbnails = ReferenceThumbnails(arrays["upright"], arrays["turned"], None)
    if held_out is None:
        return thumbnails
    load = held_out

    def find_originals() -> Arrays:
        originals = thumbnails.originals(thumbnails_of(load()), lambda _share: None)
        return {"distance": originals.distance, "index": originals.index, "mirrored": originals.mirrored}

    arrays = cache("fresh-thumbnails", find_originals)
    originals = Originals(arrays["distance"], arrays["index"], arrays["mirrored"])
    return replace(thumbnails, held_out=originals)
