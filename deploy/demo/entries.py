"""The entries of the demo competition: teams, generators, labels and expected outcomes.

:mod:`deploy.demo.generators` has the honest generators and the ways to memorise. On the shipped photographs the kernel
density has its largest leave-one-out likelihood at bandwidth 1 (of 0.05 to 2). At every bandwidth, each of its images
is a visible training image under noise. Reviewers decide whether that is a model or a copy.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from deploy.demo.generators import (
    Pixels,
    blended,
    copies,
    cropped,
    gaussian,
    half_copied,
    kernel_density,
    mirrored,
    mixture,
    noisy,
    one_hot,
    reconstructed,
)

Generate = Callable[[Pixels, int, np.random.Generator], Pixels]
Label = Literal["legitimate", "mgan", "sup", "ae", "aug", "other"]
Judgement = Literal["honest", "copy", "penalised", "escapes"]


@dataclass(frozen=True)
class DemoEntry:
    """One participant of the demo.

    ``label`` is the label from manual review, None if undecided. ``expected`` is the outcome after `margin` has chosen
    the private threshold from those labels: ``honest`` and ``escapes`` are not penalised, although the latter
    memorises; a ``copy`` has no rank. ``expected_signs`` are the signs of copying in its evidence on some track.
    """

    key: str
    team: str
    kind: str
    description: str
    generate: Generate
    label: Label | None
    expected: Judgement
    expected_signs: tuple[str, ...] = ()


def ranked(generate: Callable[..., Pixels], share: float, **arguments: int) -> Generate:
    """The generator with ``share`` principal components per training image: smaller sets give similar images."""

    def generate_with_rank(train: Pixels, count: int, rng: np.random.Generator) -> Pixels:
        return generate(train, count, rng, rank=max(1, round(share * len(train))), **arguments)

    return generate_with_rank


ENTRIES = (
    DemoEntry(
        key="gaussian-20",
        team="Gaussian Kennels",
        kind="gaussian",
        description="One normal distribution in 20 principal components: blurry and honest.",
        generate=partial(gaussian, rank=20),
        label="legitimate",
        expected="honest",
    ),
    DemoEntry(
        key="cropped-copies",
        team="Zoom In",
        kind="augmentation",
        description="Training images, cropped a little and enlarged again.",
        generate=partial(cropped, min_share=0.8, max_share=0.95),
        label="aug",
        expected="penalised",
        expected_signs=("near-copies",),
    ),
    DemoEntry(
        key="raw-copies",
        team="Copy & Paste",
        kind="copies",
        description="Training images, unchanged.",
        generate=copies,
        label="other",
        expected="copy",
        expected_signs=("near-copies",),
    ),
    DemoEntry(
        key="autoencoder",
        team="Bottleneck",
        kind="autoencoder",
        description="Training images through a linear autoencoder, which blurs them.",
        generate=ranked(reconstructed, 0.176),
        label="ae",
        expected="escapes",
        expected_signs=("thumbnail-copies",),
    ),
    DemoEntry(
        key="mixture",
        team="Mixed Breeds",
        kind="mixture",
        description="A mixture of 8 normal distributions in the first principal components.",
        generate=ranked(mixture, 0.0527, parts=8),
        label="legitimate",
        expected="honest",
    ),
    DemoEntry(
        key="mirrored-copies",
        team="Mirror, Mirror",
        kind="copies",
        description="Training images, mirrored left to right.",
        generate=mirrored,
        label="aug",
        expected="copy",
        expected_signs=("mirrored-copies",),
    ),
    DemoEntry(
        key="kernel-wide",
        team="Long Leash",
        kind="kernel-density",
        description="Kernel density with bandwidth 1: each image is a training image with equally strong noise, but "
        "still recognisable. For reviewers to decide.",
        generate=partial(kernel_density, bandwidth=1.0),
        label=None,
        expected="escapes",
        expected_signs=("hash-copies",),
    ),
    DemoEntry(
        key="half-copied",
        team="Half & Half",
        kind="half-copied",
        description="Half copies, half honest images: at first their mean distance hides the copies.",
        generate=ranked(half_copied, 0.088),
        label="other",
        expected="penalised",
        expected_signs=("near-copies", "partly-copied"),
    ),
    DemoEntry(
        key="kernel-narrow",
        team="Short Leash",
        kind="kernel-density",
        description="Kernel density with bandwidth 0.2: little more than training images. For reviewers to decide.",
        generate=partial(kernel_density, bandwidth=0.2),
        label=None,
        expected="penalised",
        expected_signs=("thumbnail-copies",),
    ),
    DemoEntry(
        key="one-hot",
        team="One-Hot Dogs",
        kind="supervised",
        description="A linear map from one-hot seeds to training images, by ridge regression.",
        generate=partial(one_hot, ridge=0.1),
        label="sup",
        expected="penalised",
        expected_signs=("near-copies",),
    ),
    DemoEntry(
        key="noisy-copies",
        team="Static on the Line",
        kind="augmentation",
        description="Training images with noise of 6 grey levels.",
        generate=partial(noisy, deviation=6.0),
        label="aug",
        expected="penalised",
        expected_signs=("thumbnail-copies",),
    ),
    DemoEntry(
        key="blended-copies",
        team="Double Exposure",
        kind="augmentation",
        description="Two training images at a time, one shining through the other.",
        generate=partial(blended, max_share=0.8),
        label="aug",
        expected="penalised",
        expected_signs=("thumbnail-copies",),
    ),
    DemoEntry(
        key="kernel-middling",
        team="Loose Leash",
        kind="kernel-density",
        description="Kernel density with bandwidth 0.5: training images are visible. For reviewers to decide.",
        generate=partial(kernel_density, bandwidth=0.5),
        label=None,
        expected="escapes",
    ),
    DemoEntry(
        key="gaussian-200",
        team="Covariance Club",
        kind="gaussian",
        description="One normal distribution in 200 principal components: more detail, more noise.",
        generate=partial(gaussian, rank=200),
        label="legitimate",
        expected="honest",
    ),
)
"""The first three suffice to choose a threshold; the usual demo has the first eight."""
