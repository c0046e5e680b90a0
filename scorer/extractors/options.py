"""Options of extractors: device, batch size, threads, folders."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from scorer.process_resources import allowed_threads

DeviceKind = Literal["auto", "cpu", "cuda"]
CPU_BATCH = 8
"""Images at a time on a CPU: with more, activations no longer fit its caches and speed does not rise."""


def parse_device(device: str) -> tuple[DeviceKind, int | None]:
    """Kind and index of a device by its name: ``auto``, ``cpu``, ``cuda``, or one GPU as ``cuda:3``. ``ValueError`` for
    another."""
    kind, _, index = device.partition(":")
    if device in {"auto", "cpu", "cuda"} or (kind == "cuda" and index.isdecimal()):
        return cast("DeviceKind", kind), int(index) if index else None
    raise ValueError(f"There is no device {device!r}: it is auto, cpu, cuda or, for example, cuda:3.")


@dataclass(frozen=True)
class ExtractorOptions:
    """Where weights are and how networks run.

    ``device`` ``auto`` is a GPU, or the CPU where there is none; ``device_index`` says which of the GPUs that this
    process sees (None: the first). ``batch_size`` (None: :data:`CPU_BATCH` on the CPU; on a GPU the largest that safely
    fits) and ``threads`` (None: one for every core that this process may use, or as ``OMP_NUM_THREADS`` says) are fixed
    for an extractor's life and recorded in the provenance, since the last bits of a feature depend on them.
    """

    weights_dir: Path | None = None
    weights_sha256: Mapping[str, str] = field(default_factory=dict)
    """By extractor name: the hash (hex) that the operator requires of a weight file."""
    device: DeviceKind = "auto"
    device_index: int | None = None
    batch_size: int | None = None
    threads: int | None = None
    cache_dir: Path | None = None
    """Where the batch size measured for a GPU outlives restarts."""

    @property
    def resolved_threads(self) -> int:
        """The number of threads, with None resolved."""
        return allowed_threads() if self.threads is None else self.threads
