"""Latent recovery with an uploaded encoder instead of a search (Webster et al. 2019, section 3.1).

    AEGAN      error of G(E(y)):     the encoder gives a latent point
    CycleGAN   error of G2(G1(y)):   the encoder gives an image of another domain, which the generator maps back

Both are the same composition. There are no generated targets, because they only test whether a search succeeds.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from scorer.errors import Invalid
from scorer.generators.recovery.search import GeneratorFunction, RecoveredImages, errors_between, images_at
from scorer.progress import ProgressCallback

EncoderFunction = Callable[[Tensor], Tensor]
"""Images (n, 3, s, s) in [-1, 1] to inputs of the generator, each row independently of the others."""


def reconstruct(
    generator: GeneratorFunction,
    encoder: EncoderFunction,
    targets: Tensor,
    *,
    batch: int = 64,
    progress: ProgressCallback | None = None,
) -> RecoveredImages:
    """Recover targets (n, 3, s, s) in [-1, 1] with encoder and generator.

    Raises :class:`Invalid`: ``bad-encoder`` for a wrong number of rows or values that are not finite,
    ``bad-generator`` for an output that is not an image.
    """
    images = []
    with torch.no_grad():
        for some in torch.split(targets, batch):
            code = encoder(some)
            if len(code) != len(some) or not torch.isfinite(code).all():
                raise Invalid("bad-encoder", "The encoder must return one finite code for every image.")
            images.append(images_at(generator, code, targets.shape[2]))
            if progress:
                progress(sum(map(len, images)) / len(targets))
    image = torch.cat(images)
    error = errors_between(image, targets, torch.ones(()))
    if not np.isfinite(error).all():
        raise Invalid("bad-generator", "The generator's output contains numbers that are not finite.")
    return RecoveredImages(error, image, 0, error[None])
