"""Extractors: from images to features, as ``name@version``, with verified weights and fixed preprocessing.

Importing this package needs no torch and starts no thread. Torch is imported when an extractor is loaded, in the
process that uses it. So a worker may fork first, and ``tiny`` works without torch.
"""

import hashlib
import json
from typing import Any, Protocol

from scorer import extractor_catalogue
from scorer.errors import Unavailable
from scorer.extractor_catalogue import ExtractorSpec
from scorer.extractors import weights
from scorer.extractors.batches import DeviceLost, Features, Images
from scorer.extractors.options import ExtractorOptions
from scorer.extractors.tiny import Tiny
from scorer.metrics.cosine import Shortlister
from scorer.progress import ProgressCallback

__all__ = [
    "DeviceLost",
    "Extractor",
    "ExtractorOptions",
    "Features",
    "Images",
    "fingerprint",
    "load",
]


class Extractor(Protocol):
    @property
    def spec(self) -> ExtractorSpec: ...

    @property
    def provenance(self) -> dict[str, Any]:
        """Everything needed to repeat it, as JSON: identity, weights_sha256, device, precision, batch, threads,
        versions. The batch is that of the newest features: a GPU that runs out of memory halves it."""
        ...

    def features(self, images: Images, *, progress: ProgressCallback | None = None) -> Features:
        """Features (n, d) float32 of images (n, h, w, 3), uint8 or float32 in 0..255, possibly memory-mapped.

        ``progress`` is called with the finished share after each batch. Raises ``Invalid`` (``degenerate-features``)
        naming the images with features that are zero or not finite, ``Unavailable`` (``no-gpu-memory``), and
        ``DeviceLost`` if the GPU fails.
        """
        ...

    @property
    def shortlister(self) -> Shortlister:
        """Makes the shortlists of nearest neighbours on the device of the features, if that is faster."""
        ...

    def logits(self, features: Features) -> Features | None:
        """The logits (n, classes) float32 of the classifier trained on features (n, d); None for an extractor without a
        classifier."""
        ...


def load(identity: str, *, options: ExtractorOptions) -> Extractor:
    """Load the extractor ``name`` or ``name@version``, ready to run.

    Raises ``Invalid`` (``unknown-extractor``), and ``Unavailable`` with a one-sentence message: ``missing-weights``,
    ``wrong-weights`` (another SHA-256), ``unfit-weights`` (another network, or unreadable), ``unrecorded-weights``,
    ``no-gpu``, ``no-gpu-memory``, ``no-torch``. ``DeviceLost`` if the GPU fails.
    """
    spec = extractor_catalogue.find_extractor(identity)
    if spec.architecture is None:
        return Tiny(spec, options)
    verified = weights.read_weights(spec, options)
    try:
        # Imported here because torch is optional and heavy, and must not be loaded before a worker forks.
        from scorer.extractors.torch_extractor import TorchExtractor  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise Unavailable(
            "no-torch",
            f"{spec.identity} needs PyTorch and timm, but {error.name} is missing: pip install ./client '.[worker]'.",
        ) from error
    return TorchExtractor(spec, verified, options)


def fingerprint(identity: str, options: ExtractorOptions) -> str:
    """The content address (hex) of an extractor's results: a hash of identity, weights, layer and preprocessing.

    Device and batch are not part of it. They only change the last bits and are in the provenance
    (``docs/explanation/reproducibility.md``). Builds no network. Raises the errors of :func:`load`
    for missing or wrong weights.
    """
    spec = extractor_catalogue.find_extractor(identity)
    parts = {
        "extractor": spec.identity,
        "weights_sha256": weights.hash_weights(spec, options) if spec.architecture else spec.weights_sha256,
        "network": spec.architecture,
        "layer": spec.layer,
        "input_size": spec.input_size,
        "resizing": spec.resizing,
        "mean": spec.mean,
        "std": spec.std,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
