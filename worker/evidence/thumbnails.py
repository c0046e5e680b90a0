"""The references made very small: what near copies are found by that blur hides from a network."""

from collections.abc import Callable
from dataclasses import dataclass

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
    fresh: Originals | None
    """What held-out photographs are nearest to; None where none are held out."""

    def originals(self, thumbnails: Features, progress: Callable[[float], None]) -> Originals:
        """The nearest training image, upright or mirrored, of thumbnails (n, 192)."""
        return thumbnail_originals(thumbnails, self.training, self.mirrored, progress=progress)


def reference_thumbnails_of(
    training: LoadImages, held_out: LoadImages | None, *, keep: ArrayCache = no_cache
) -> ReferenceThumbnails:
    """Make thumbnails, or take them from ``keep``. Images are loaded only if they are needed."""

    def made() -> Arrays:
        images = training()
        return {"upright": thumbnails_of(images), "turned": thumbnails_of(images, mirrored=True)}

    kept = keep("thumbnails", made)
    small = ReferenceThumbnails(kept["upright"], kept["turned"], None)
    if held_out is None:
        return small
    load = held_out

    def found() -> Arrays:
        near = small.originals(thumbnails_of(load()), lambda _share: None)
        return {"distance": near.distance, "index": near.index, "mirrored": near.mirrored}

    fresh = keep("fresh-thumbnails", found)
    near = Originals(fresh["distance"], fresh["index"], fresh["mirrored"])
    return ReferenceThumbnails(small.training, small.mirrored, near)
