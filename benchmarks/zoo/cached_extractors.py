"""Cached feature extraction: features are stored under hashes of the extractor, with its weights, and of the images."""

import hashlib
import logging
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.zoo.entries import EntryFeatures, Title
from benchmarks.zoo.entry_cache import EntryCache, Inputs
from benchmarks.zoo.spaces import References, Space, space_of
from benchmarks.zoo.trainings.training import GeneratedImages
from deploy.demo.tiles import Pixels
from scorer.archive import mirror_images
from scorer.extractors import ExtractorOptions, Features, fingerprint, load

log = logging.getLogger(__name__)

FeatureFunction = Callable[[Pixels], Features]
OPTIONS = ExtractorOptions(device="cpu", threads=1)


class CachedExtractors:
    """Extractors with a cache of features; each is loaded once features are asked for that the cache lacks."""

    def __init__(self, extractors: tuple[str, ...], cache: EntryCache) -> None:
        """Equal names are one extractor. Nothing is loaded yet."""
        self.extractors = tuple(dict.fromkeys(extractors))
        self._cache = cache
        self._loaded: dict[str, FeatureFunction] = {}

    def features(self, extractor: str, images: Pixels) -> Features:
        """Features (n, d) of images (n, s, s, 3), from the cache or computed now."""
        digest = hashlib.sha256(np.ascontiguousarray(images).data).hexdigest()
        key = f"{extractor}-{fingerprint(extractor, OPTIONS)[:16]}-{digest[:24]}"
        known = self._cache.arrays(key)
        if known is not None:
            return known["features"]
        if extractor not in self._loaded:
            self._loaded[extractor] = load(extractor, options=OPTIONS).features
        features = self._loaded[extractor](images)
        self._cache.store(key, {"features": features})
        return features

    def compute_features(self, title: Title, entry: GeneratedImages) -> EntryFeatures:
        """An entry with its features in every space."""
        log.info("features of %s %s, seed %d", *title)
        features = {name: self.features(name, entry.images) for name in self.extractors}
        return EntryFeatures(title, entry.images, features, entry.originals)

    def photographs(self, title: Title, inputs: Inputs, rows: NDArray[np.int64]) -> EntryFeatures:
        """The entry of these held-out images."""
        features = {name: self.features(name, inputs.held_out)[rows] for name in self.extractors}
        return EntryFeatures(title, inputs.held_out[rows], features)

    def space(self, extractor: str, inputs: Inputs, held_out: NDArray[np.int64], *, private: bool) -> Space:
        """A track's prepared reference, with these of the held-out images; the private one has additional images."""
        training = self.features(extractor, inputs.train)
        extra = [self.features(extractor, inputs.private_extra)] if private else []
        return space_of(
            References(
                train=inputs.train,
                held_out=inputs.held_out[held_out],
                training=training,
                mirrored=self.features(extractor, mirror_images(inputs.train)),
                held_out_features=self.features(extractor, inputs.held_out)[held_out],
                whole=np.concatenate([training, *extra]),
            )
        )
