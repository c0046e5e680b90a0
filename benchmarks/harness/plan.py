"""Sizes and repetitions of all measurements: full, and quick for tests."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BenchmarkPlan:
    """Sizes of all measurements, and how often each is repeated (``rounds``)."""

    rounds: int
    networks: tuple[str, ...]
    scored: int
    """Images of the scoring benchmark."""
    generated: int
    """Rows of features of a submission."""
    reference: int
    """Rows of features of a reference."""
    dimensions: tuple[int, ...]
    """Dimensions for the Fréchet distance and for prepared references."""
    neighbours: int
    """Dimension for the nearest neighbours."""
    tracks: tuple[str, str]
    """Public and private extractor."""
    images: tuple[int, ...]
    """Numbers of images scored on both tracks."""
    boards: tuple[tuple[int, int], ...]
    """Entries and teams of the standings' competitions."""
    readers: int
    """Concurrent readers of a board."""
    load_seconds: float
    """Seconds for which they read."""
    waiting_jobs: int
    """Jobs that wait in the queue's benchmark, beside ``finished_jobs``."""
    finished_jobs: int
    claiming_workers: int
    """Workers that claim them."""


FULL = BenchmarkPlan(
    rounds=3,
    networks=("inception_v3", "efficientnet_lite0"),
    scored=1000,
    generated=10_000,
    reference=20_579,
    dimensions=(2048, 4032),
    neighbours=2048,
    tracks=("efficientnet_lite0", "efficientnet_lite2"),
    images=(1000, 4000, 10_000),
    boards=((1_666, 924), (100_000, 20_000), (1_100_000, 100_000)),
    readers=16,
    load_seconds=10,
    waiting_jobs=10_000,
    finished_jobs=1_000_000,
    claiming_workers=64,
)
"""The 2019 competition's sizes: 10,000 images, 20,579 dogs, Inception's 2048 features and NASNet's 4032."""

QUICK = BenchmarkPlan(
    rounds=1,
    networks=("small",),
    scored=40,
    generated=300,
    reference=600,
    dimensions=(48, 64),
    neighbours=64,
    tracks=("tiny", "tiny"),
    images=(20, 60),
    boards=((600, 60),),
    readers=2,
    load_seconds=1,
    waiting_jobs=200,
    finished_jobs=1000,
    claiming_workers=4,
)
"""Tests in seconds whether everything runs; its numbers mean nothing."""
