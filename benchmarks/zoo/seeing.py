"""From images to features, once: they are kept by what the images are."""

import hashlib
import logging
from collections.abc import Callable

import numpy as np

from benchmarks.zoo.making import EntryCache, Inputs
from benchmarks.zoo.roster import EntryFeatures, Title
from benchmarks.zoo.spaces import References, Space, space_of
from deploy.demo.tiles import Pixels
from scorer.archive import mirror_images
from scorer.extractors import ExtractorOptions, Features, load

log = logging.getLogger(__name__)

FeatureFunction = Callable[[Pixels], Features]


class CachedExtractors:
    """Extractors, loaded when they are first needed, over the features that are kept."""

    def __init__(self, extractors: tuple[str, ...], kept: EntryCache) -> None:
        """Nothing is loaded yet. Equal names are one extractor."""
        self.extractors, self._kept = tuple(dict.fromkeys(extractors)), kept
        self._loaded: dict[str, FeatureFunction] = {}

    def features(self, extractor: str, images: Pixels) -> Features:
        """Features (n, d) of images (n, s, s, 3), kept or computed now."""
        key = f"{extractor}-{hashlib.sha256(np.ascontiguousarray(images).data).hexdigest()[:24]}"
        known = self._kept.arrays(key)
        if known is not None:
            return known["features"]
        if extractor not in self._loaded:
            options = ExtractorOptions(device="cpu", threads=1)
            self._loaded[extractor] = load(extractor, options=options).features
        found = self._loaded[extractor](images)
        self._kept.keep(key, {"features": found})
        return found

    def see(self, title: Title, images: Pixels) -> EntryFeatures:
        """An entry in every space."""
        log.info("looking at %s, %s, seed %d", *title)
        return EntryFeatures(title, images, {name: self.features(name, images) for name in self.extractors})

    def space(self, extractor: str, inputs: Inputs, *, private: bool) -> Space:
        """A track's reference; the private one has photographs of its own."""
        training = self.features(extractor, inputs.train)
        extra = [self.features(extractor, inputs.private_extra)] if private else []
        return space_of(
            References(
                train=inputs.train,
                held_out=inputs.held_out,
                training=training,
                mirrored=self.features(extractor, mirror_images(inputs.train)),
                fresh=self.features(extractor, inputs.held_out),
                whole=np.concatenate([training, *extra]),
            )
        )
