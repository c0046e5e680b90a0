"""Distortions that move images off a generator's manifold (Webster et al. 2019, section 2.2, figure 2).

A generator limited to its manifold recovers distorted images badly. A generator that recovers them as well as the
originals can make any image, so its small errors say little. Images are float32 (n, s, s, 3) in [-1, 1]; distorted
images may leave that range, as in the paper.
"""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter, map_coordinates

Floats = NDArray[np.float32]
Distortion = Callable[[Floats, np.random.Generator], Floats]

WARP, SMOOTHNESS = 0.03, 0.125  # shares of the side: standard deviation of the shifts, width of the smoothing
PATCH, PATCH_DEVIATION = 0.25, 0.5  # side of a patch as a share of the image's side; deviation of its noise
NOISE = 0.2  # deviation of the additive noise


def warp_images(images: Floats, random: np.random.Generator, *, shift: float = WARP) -> Floats:
    """Warp each image by its own smooth random vector field, with bilinear interpolation.

    The field is Gaussian noise, smoothed by a Gaussian with a width of an eighth of the side and scaled to shifts with
    the standard deviation ``shift``, a share of the side.
    """
    count, side = images.shape[:2]
    field = gaussian_filter(random.standard_normal((count, 2, side, side)), SMOOTHNESS * side, mode="wrap", axes=(2, 3))
    field *= shift * side / field.std()
    place = np.indices((side, side)) + field
    warped = np.empty_like(images)
    for row, channel in np.ndindex(count, 3):
        warped[row, :, :, channel] = map_coordinates(images[row, :, :, channel], place[row], order=1, mode="nearest")
    return warped


def patch_images(images: Floats, random: np.random.Generator) -> Floats:
    """Replace a square at a random place in each image, a quarter of its side wide, by the same noise."""
    size = images.shape[1]
    width = max(1, round(PATCH * size))
    noise = PATCH_DEVIATION * random.standard_normal((width, width, 3))
    places = random.integers(size - width + 1, size=(len(images), 2))
    patched = images.copy()
    for image, (top, left) in zip(patched, places, strict=True):
        image[top : top + width, left : left + width] = noise
    return patched


def add_noise(images: Floats, random: np.random.Generator, *, deviation: float = NOISE) -> Floats:
    return images + np.float32(deviation) * random.standard_normal(images.shape, dtype=np.float32)


DISTORTIONS: Mapping[str, Distortion] = {"warp": warp_images, "patches": patch_images, "noise": add_noise}
"""The three distortions of the paper, all small."""
