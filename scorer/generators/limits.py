"""Limits on an uploaded generator: its file, its network, and the process that runs it."""

from dataclasses import dataclass
from typing import NamedTuple

from scorer.errors import Invalid


@dataclass(frozen=True, slots=True)
class GeneratorLimits:
    """Limits on a file, on what its network computes for one latent, and on the process that runs it.

    The limits on the file are far above a StyleGAN of 256 x 256 pixels. Those on the process limit the cost of an
    audit.
    """

    file_bytes: int = 256 << 20
    nodes: int = 5_000
    weights: int = 64 << 20
    """The numbers stored in the file, over all tensors."""
    constants: int = 16 << 20
    """The numbers computed from stored numbers alone: a few bytes of a file can demand gigabytes."""
    activations: int = 32 << 20
    """The numbers that all nodes compute for one image."""
    operations: int = 20_000_000_000
    """Multiplications and additions for one image."""
    side: int = 1024
    """Width and height of an image before it is pooled."""

    memory_bytes: int = 3 << 30
    """Address space of the process, beyond what the libraries take."""
    cpu_seconds: int = 4 * 3600
    wall_seconds: int = 2 * 3600
    written_bytes: int = 1 << 30
    open_files: int = 64
    threads: int = 2


DEFAULT_LIMITS = GeneratorLimits()
CHECK_LIMITS = GeneratorLimits(cpu_seconds=600, wall_seconds=900)
"""The limits of an entry's check; nearly all take a few seconds."""


class DrawingTime(NamedTuple):
    """A competition's limit on all draws of an entry."""

    images: int
    minutes: int

    def predict(self, seconds_per_image: float, *, margin: float = 1.0) -> float:
        """The predicted seconds; ``Invalid`` (``too-slow``) above the limit times ``margin``."""
        seconds = self.images * seconds_per_image
        if seconds > 60 * self.minutes * margin:
            raise Invalid(
                "too-slow",
                f"Drawing {self.images:,} images would take about {seconds / 60:,.0f} minutes "
                f"({1000 * seconds_per_image:,.1f} ms each). The limit on all draws is {self.minutes:,} minutes. Use a "
                "smaller network.",
            )
        return seconds
