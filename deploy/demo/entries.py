"""The entries of the demo competition: honest generators and the known ways to memorise.

Every entry is a pure function ``(train, count, rng) -> images``: ``train`` (m, size, size, 3) uint8 in,
(count, size, size, 3) uint8 out, all randomness from ``rng``. All are closed-form or fitted in about a
second, and draw in batches, so that 10,000 images need little more memory than their own pixels.

The kinds that memorise are those of Bai et al. 2021, section 3.2. The kernel densities are the dial of
Meehan et al. 2020, section 4: with all principal components a bandwidth of 0 is a bootstrap of the training
images, and a large one is an honest, underfitting model.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sklearn.mixture import GaussianMixture

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float32]
Generate = Callable[[Pixels, int, np.random.Generator], Pixels]

BATCH = 500
LARGEST_FIT = 1_500


@dataclass(frozen=True)
class PixelSpace:
    mean: Floats
    axes: Floats
    deviations: Floats
    codes: Floats
    shape: tuple[int, ...]


def pixel_space(train: Pixels, rank: int, rng: np.random.Generator) -> PixelSpace:
    if len(train) > LARGEST_FIT:
        train = train[np.sort(rng.choice(len(train), LARGEST_FIT, replace=False))]
    x = train.reshape(len(train), -1).astype(np.float32)
    mean = x.mean(axis=0)
    x -= mean
    values, vectors = np.linalg.eigh((x @ x.T).astype(np.float64))
    kept = np.argsort(values)[::-1][: min(rank, len(train) - 1)]
    lengths = np.sqrt(np.maximum(values[kept], 1e-6))
    axes = ((vectors[:, kept] / lengths).T.astype(np.float32)) @ x
    dev = (lengths / np.sqrt(len(train) - 1)).astype(np.float32)
    codes = (vectors[:, kept] * np.sqrt(len(train) - 1)).astype(np.float32)
    return PixelSpace(mean, axes, dev, codes, train.shape[1:])


def decoded(space, codes):
    out = np.empty((len(codes), *space.shape), np.uint8)
    for i in range(0, len(codes), BATCH):
        b = codes[i : i + BATCH]
        flat = space.mean + (b * space.deviations) @ space.axes
        out[i : i + len(b)] = quantised(flat).reshape(len(b), *space.shape)
    return out


def quantised(v):
    return np.clip(np.rint(v), 0, 255).astype(np.uint8)


def some_of(n, count, rng):
    return rng.choice(n, count, replace=count > n)


def gaussian(train, count, rng, *, rank):
    space = pixel_space(train, rank, rng)
    return decoded(space, rng.standard_normal((count, len(space.axes)), dtype=np.float32))


def mixture(train, count, rng, *, rank, components, reg=0.05):
    space = pixel_space(train, rank, rng)
    m = GaussianMixture(
        min(components, len(space.codes) // 8), reg_covar=reg, max_iter=300, random_state=int(rng.integers(2**31))
    )
    m.fit(space.codes)
    c, _ = m.sample(count)
    return decoded(space, rng.permutation(c.astype(np.float32)))


def kernel_density(train, count, rng, *, bandwidth, rank=LARGEST_FIT):
    space = pixel_space(train, rank, rng)
    c = space.codes[rng.integers(len(space.codes), size=count)]
    return decoded(space, c + np.float32(bandwidth) * rng.standard_normal(c.shape, dtype=np.float32))


def copies(train, count, rng):
    return train[some_of(len(train), count, rng)]


def mirrored(train, count, rng):
    return np.ascontiguousarray(copies(train, count, rng)[:, :, ::-1])


def noisy(train, count, rng, *, levels=8):
    out = copies(train, count, rng)
    for i in range(0, count, BATCH):
        b = out[i : i + BATCH]
        out[i : i + BATCH] = quantised(b + levels * rng.standard_normal(b.shape, dtype=np.float32))
    return out


def cropped(train, count, rng, *, smallest=0.8, largest=0.95):
    out = copies(train, count, rng)
    size = train.shape[1]
    for i in range(count):
        side = int(rng.integers(round(smallest * size), round(largest * size) + 1))
        l, t = rng.integers(0, size - side + 1, size=2)
        out[i] = np.asarray(
            Image.fromarray(out[i]).resize((size, size), Image.Resampling.BICUBIC, box=(l, t, l + side, t + side))
        )
    return out


def blended(train, count, rng, least=0.5, most=0.7):
    a, b = some_of(len(train), count, rng), some_of(len(train), count, rng)
    w = rng.uniform(least, most, size=(count, 1, 1, 1)).astype(np.float32)
    out = np.empty((count, *train.shape[1:]), np.uint8)
    for i in range(0, count, BATCH):
        s = slice(i, i + BATCH)
        out[s] = quantised(w[s] * train[a[s]] + (1 - w[s]) * train[b[s]])
    return out


def reconstructed(train, count, rng, *, rank=200):
    space = pixel_space(train, rank, rng)
    return decoded(space, space.codes[some_of(len(space.codes), count, rng)])


def one_hot(train, count, rng, *, ridge=0.1):
    mean = train.mean(axis=0, dtype=np.float64).astype(np.float32)
    out = copies(train, count, rng)
    for i in range(0, count, BATCH):
        b = out[i : i + BATCH]
        out[i : i + BATCH] = quantised(mean + (b - mean) / (1 + ridge))
    return out


def half_copied(train, count, rng, *, rank=100):
    h = count // 2
    return rng.permutation(np.concatenate([gaussian(train, count - h, rng, rank=rank), copies(train, h, rng)]))


ENTRIES = {
    "raw": copies,
    "mirrored": mirrored,
    "noisy": noisy,
    "cropped": cropped,
    "blended": blended,
    "ae200": reconstructed,
    "ae100": partial(reconstructed, rank=100),
    "sup.1": one_hot,
    "half": half_copied,
    "g50": partial(gaussian, rank=50),
    "g200": partial(gaussian, rank=200),
    "gfull": partial(gaussian, rank=1500),
    "mix": partial(mixture, rank=60, components=12),
    "kde.05": partial(kernel_density, bandwidth=0.05),
    "kde.2": partial(kernel_density, bandwidth=0.2),
    "kde.5": partial(kernel_density, bandwidth=0.5),
    "kde1": partial(kernel_density, bandwidth=1.0),
    "kde1r200": partial(kernel_density, bandwidth=1.0, rank=200),
    "kde.5r200": partial(kernel_density, bandwidth=0.5, rank=200),
}
