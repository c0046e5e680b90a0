"""Honest generators and the known ways to memorise, for the demo competition.

A generator is a pure function ``(train, count, rng) -> images``. It takes ``train`` (m, size, size, 3) uint8, returns
(count, size, size, 3) uint8, and draws all randomness from ``rng``. All are closed-form or fitted in about a second,
and draw in batches, so 10,000 images need little more memory than their own pixels.

The ways to memorise are those of Bai et al. 2021, section 3.2, except memorization GANs, which need a GAN. The kernel
densities are those of Meehan et al. 2020, section 4: at bandwidth 0 a bootstrap of the training images; at a large
bandwidth each image is still a training image, under strong noise.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]

BATCH = 500
MAX_FITTED_IMAGES = 1_500
"""Larger training sets are subsampled to this size before a fit, which needs their Gram matrix."""


@dataclass(frozen=True)
class PixelSpace:
    """Principal components of images as flat vectors (p values), in grey levels.

    ``mean`` (p), ``axes`` (k, p) orthonormal rows, ``deviations`` (k) along them, ``codes`` (n, k) of the
    images fitted, of unit variance; all float32. ``shape`` is an image's.
    """

    mean: Floats
    axes: Floats
    deviations: Floats
    codes: Floats
    shape: tuple[int, ...]


def fit_pixel_space(train: Pixels, rank: int | None, rng: np.random.Generator) -> PixelSpace:
    """The first ``rank`` principal components (None: all), computed from the Gram matrix of the images."""
    if len(train) > MAX_FITTED_IMAGES:
        train = train[np.sort(rng.choice(len(train), MAX_FITTED_IMAGES, replace=False))]
    flat = train.reshape(len(train), -1).astype(np.float32)
    mean = flat.mean(axis=0)
    flat -= mean
    values, vectors = np.linalg.eigh(flat @ flat.T)
    used = values > values[-1] * 1e-6  # centred images span one dimension less than their number
    values, vectors = values[used][::-1][:rank], vectors[:, used][:, ::-1][:, :rank]
    freedom = np.float32(np.sqrt(len(train) - 1))
    return PixelSpace(
        mean=mean,
        axes=(vectors / np.sqrt(values)).T @ flat,
        deviations=np.sqrt(values) / freedom,
        codes=vectors * freedom,
        shape=train.shape[1:],
    )


def decode_codes(space: PixelSpace, codes: Floats) -> Pixels:
    """The images (n, *shape) uint8 decoded from codes (n, k)."""
    images = np.empty((len(codes), *space.shape), np.uint8)
    for batch in _batches(len(codes)):
        flat = space.mean + (codes[batch] * space.deviations) @ space.axes
        images[batch] = _grey_levels(flat).reshape(-1, *space.shape)
    return images


def gaussian(train: Pixels, count: int, rng: np.random.Generator, *, rank: int) -> Pixels:
    """One normal distribution, fitted in the first principal components."""
    space = fit_pixel_space(train, rank, rng)
    return decode_codes(space, rng.standard_normal((count, len(space.axes)), dtype=np.float32))


def mixture(train: Pixels, count: int, rng: np.random.Generator, *, rank: int, parts: int) -> Pixels:
    """A mixture of normal distributions with full covariances, fitted in the first principal components.

    Fitted in grey levels: in codes of unit variance, single outliers become components.
    """
    space = fit_pixel_space(train, rank, rng)
    scale = space.deviations / space.deviations[-1]
    model = GaussianMixture(parts, reg_covar=0.05, max_iter=500, random_state=int(rng.integers(2**31)))
    with threadpool_limits(limits=1):  # its matrices are small: with threads it takes 20 times longer on busy cores
        model.fit(space.codes * scale)
    part = rng.choice(parts, size=count, p=model.weights_ / model.weights_.sum())
    spread = np.linalg.cholesky(model.covariances_)
    codes = np.empty((count, len(scale)), np.float32)
    for number in range(parts):
        noise = rng.standard_normal((int((part == number).sum()), len(scale)))
        codes[part == number] = (model.means_[number] + noise @ spread[number].T) / scale
    return decode_codes(space, codes)


def kernel_density(train: Pixels, count: int, rng: np.random.Generator, *, bandwidth: float) -> Pixels:
    """A training image plus normal noise with ``bandwidth`` squared times the training covariance.

    Uses all principal components: with fewer, even bandwidth 0 would only be a reconstruction.
    """
    space = fit_pixel_space(train, None, rng)
    images = np.empty((count, *train.shape[1:]), np.uint8)
    for batch in _batches(count):
        centres = space.codes[rng.integers(len(space.codes), size=len(images[batch]))]
        noise = rng.standard_normal(centres.shape, dtype=np.float32)
        images[batch] = decode_codes(space, centres + np.float32(bandwidth) * noise)
    return images


def copies(train: Pixels, count: int, rng: np.random.Generator) -> Pixels:
    """Training images, unchanged; without repeats while there are enough."""
    return train[_draw_indices(len(train), count, rng)]


def mirrored(train: Pixels, count: int, rng: np.random.Generator) -> Pixels:
    """Training images, mirrored."""
    return np.ascontiguousarray(copies(train, count, rng)[:, :, ::-1])


def noisy(train: Pixels, count: int, rng: np.random.Generator, *, deviation: float) -> Pixels:
    """Training images with independent normal noise of ``deviation`` grey levels."""
    images = copies(train, count, rng)
    for batch in _batches(count):
        noise = rng.standard_normal(images[batch].shape, dtype=np.float32)
        images[batch] = _grey_levels(images[batch] + np.float32(deviation) * noise)
    return images


def cropped(train: Pixels, count: int, rng: np.random.Generator, *, min_share: float, max_share: float) -> Pixels:
    """A square of ``min_share`` to ``max_share`` of each training image's side, enlarged to full size."""
    images = copies(train, count, rng)
    size = train.shape[1]
    for i in range(count):
        side = int(rng.integers(round(min_share * size), round(max_share * size), endpoint=True))
        left, top = (int(v) for v in rng.integers(0, size - side, size=2, endpoint=True))
        square = Image.fromarray(images[i]).crop((left, top, left + side, top + side))
        images[i] = np.asarray(square.resize((size, size), Image.Resampling.BICUBIC))
    return images


def blended(train: Pixels, count: int, rng: np.random.Generator, *, max_share: float) -> Pixels:
    """Two blended training images; the first has a share between one half and ``max_share``."""
    chosen = _draw_indices(len(train), count, rng)
    first, second = train[chosen], train[(chosen + rng.integers(1, len(train), size=count)) % len(train)]
    share = rng.uniform(0.5, max_share, size=(count, 1, 1, 1)).astype(np.float32)
    for batch in _batches(count):
        first[batch] = _grey_levels(share[batch] * first[batch] + (1 - share[batch]) * second[batch])
    return first


def reconstructed(train: Pixels, count: int, rng: np.random.Generator, *, rank: int) -> Pixels:
    """Training images through a linear autoencoder with ``rank`` hidden units, at its optimum.

    That optimum is the projection on the first principal components (Baldi and Hornik 1989).
    """
    space = fit_pixel_space(train, rank, rng)
    return decode_codes(space, space.codes[_draw_indices(len(space.codes), count, rng)])


def one_hot(train: Pixels, count: int, rng: np.random.Generator, *, ridge: float) -> Pixels:
    """A linear map from one-hot seeds to training images, by ridge regression.

    With one seed per image the solution is closed-form: the mean image plus each image's difference from it, divided by
    ``1 + ridge``.
    """
    mean = train.mean(axis=0, dtype=np.float64).astype(np.float32)
    images = copies(train, count, rng)
    for batch in _batches(count):
        images[batch] = _grey_levels(mean + (images[batch] - mean) / np.float32(1 + ridge))
    return images


def half_copied(train: Pixels, count: int, rng: np.random.Generator, *, rank: int) -> Pixels:
    """At most half training images, unchanged; the rest from :func:`gaussian`, shuffled.

    The mean distance hides the copies; the distances of single images do not.
    """
    honest = gaussian(train, count - count // 2, rng, rank=rank)
    return rng.permutation(np.concatenate([honest, copies(train, count // 2, rng)]))


def _draw_indices(available: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """``count`` of the indices below ``available``, without repeats while there are enough."""
    return rng.choice(available, count, replace=count > available)


def _batches(count: int) -> list[slice]:
    """Slices that together are ``range(count)``."""
    return [slice(start, min(start + BATCH, count)) for start in range(0, count, BATCH)]


def _grey_levels(values: NDArray[np.floating[Any]]) -> Pixels:
    """Round and clip to valid pixel values."""
    levels: Pixels = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return levels
