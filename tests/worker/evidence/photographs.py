"""Images of one distribution, as references and entries."""

import numpy as np

from deploy.demo.generators import Pixels

COUNT, SIZE = 120, 16


def photographs(seed: int, count: int) -> Pixels:
    """Smooth images with a little noise, from one distribution that is symmetric under mirroring."""
    rng = np.random.default_rng(seed)
    grid = np.linspace(0, np.pi, SIZE)
    waves = np.stack([np.outer(np.cos(a * grid), np.cos(b * grid)) for a in range(5) for b in range(5)])
    smooth = 128 + np.einsum("nwc,wyx->nyxc", rng.normal(0, 12, (count, 25, 3)), waves)
    images: Pixels = np.clip(np.rint(smooth + rng.normal(0, 2, smooth.shape)), 0, 255).astype(np.uint8)
    return images


TRAINING, HELD_OUT = photographs(1, 300), photographs(2, 150)
REFERENCES = {"train": TRAINING, "held_out": HELD_OUT, "private_extra": photographs(3, 40)}
