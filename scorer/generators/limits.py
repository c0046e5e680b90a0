"""Limits on an uploaded generator: its file, its network, and the process that runs it."""

from dataclasses import dataclass


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
