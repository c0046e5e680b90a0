"""Options of extractors: device, batch size, threads, folders."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from scorer.process_resources import allowed_threads

DeviceKind = Literal["auto", "cpu", "cuda"]
CPU_BATCH = 8
"""Images at a time on a CPU. With more, activations no longer fit into its caches and speed does not rise."""


def parse_device(device: str) -> tuple[DeviceKind, int | None]:
    """Kind and index of a device from its name: ``auto``, ``cpu``, ``cuda``, or one GPU as ``cuda:3``. ``ValueError``
    for any other name."""
    kind, _, index = device.partition(":")
    if device in {"auto", "cpu", "cuda"} or (kind == "cuda" and index.isdecimal()):
        return cast("DeviceKind", kind), int(index) if index else None
    raise ValueError(f"There is no device {device!r}. Use auto, cpu, cuda or, for example, cuda:3.")


@dataclass(frozen=True)
class ExtractorOptions:
    """Where weights are and how networks run.

    ``device`` ``auto`` is a GPU, or the CPU if there is none. ``device_index`` selects one of the GPUs that this
    process sees (None: the first). ``batch_size`` (None: :data:`CPU_BATCH` on the CPU, and on a GPU the largest that
    safely fits) and ``threads`` (None: one per core that this process may use, or ``OMP_NUM_THREADS``) are fixed for an
    extractor's life. They are recorded in the provenance, because the last bits of a feature depend on them.
    """

    weights_dir: Path | None = None
    weights_sha256: Mapping[str, str] = field(default_factory=dict)
    """By extractor name: the hash (hex) that the operator requires for a weight file."""
    device: DeviceKind = "auto"
    device_index: int | None = None
    batch_size: int | None = None
    threads: int | None = None
    cache_dir: Path | None = None
    """Stores the batch size measured for a GPU across restarts."""

    @property
    def resolved_threads(self) -> int:
        return allowed_threads() if self.threads is None else self.threads
