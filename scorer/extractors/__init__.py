"""From images to features. This module needs no torch: networks are loaded when an extractor is, in the process that
uses it, so that a worker can fork before torch is touched.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scorer import catalogue
from scorer.extractors import weights
from scorer.extractors.options import ExtractorOptions, default_mode
from scorer.extractors.tiny import Tiny

__all__ = ["Extractor", "ExtractorOptions", "default_mode", "fingerprint", "load"]


class Extractor(Protocol):
    """A loaded feature space."""

    provenance: dict[str, Any]
    """What its features depend on, as JSON: identity, weights, device, precision, mode, batch, threads, versions."""

    def features(self, images: NDArray[Any], *, progress: Callable[[float], None] | None = None) -> NDArray[np.float32]:
        """Features (n, d) float32 of images (n, h, w, 3), uint8 or float32 in 0..255, possibly memory-mapped.

        ``progress`` hears the finished share. Raises ``Invalid`` (``degenerate-features``) naming the images whose
        features are not finite.
        """
        ...


def load(identity: str, *, options: ExtractorOptions) -> Extractor:
    """Load an extractor. ``Unavailable`` in one sentence if its weights are missing or are not what they should be, or
    if the mode that was asked for cannot run here."""
    spec = catalogue.find(identity)
    if spec.timm_model is None:
        return Tiny(spec)
    # The one import inside a function: torch must not be touched before a worker has forked.
    from scorer.extractors.networks import Network  # noqa: PLC0415

    return Network(spec, weights.find(spec, options), options)


def fingerprint(identity: str, options: ExtractorOptions) -> str:
    """The content address (hex) of everything computed with an extractor: its specification and its weights."""
    spec = catalogue.find(identity)
    sha256 = weights.find(spec, options).sha256 if spec.timm_model is not None else None
    return hashlib.sha256(json.dumps([repr(spec), sha256]).encode()).hexdigest()
