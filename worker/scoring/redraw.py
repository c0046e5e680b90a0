"""Redrawing: draws the images of a generator again, and compares them with those that the service drew."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scorer.archive import ImageSpec
from scorer.generators.drawing import Pixels, pixels_sha256
from scorer.generators.latents import Latent
from scorer.generators.limits import DEFAULT_LIMITS
from scorer.generators.onnx_files import ValueRange
from scorer.generators.sandbox.runner import draw_in_sandbox
from scorer.lifecycle import TrackKind
from scorer.progress import StageProgress
from worker.scoring.verify import DrawComparison, compare_drawings, provenance_differences

SECONDS = 24 * 3600
"""The most seconds of a draw: no queue waits for it."""


@dataclass(frozen=True, eq=False)
class DrawnGenerator:
    """A generator that has passed its check, and the images to draw from it."""

    content: bytes
    latent: Latent
    values: ValueRange
    images: ImageSpec


@dataclass(frozen=True)
class RecordedDraw:
    """``machine``: that which drew the images, as :func:`describe_machine` does."""

    track: TrackKind
    number: int
    digest: bytes
    pixels_sha256: str
    machine: Mapping[str, Any]


@dataclass(frozen=True)
class RepeatedDraw:
    recorded: RecordedDraw
    comparison: DrawComparison
    differences: tuple[str, ...]
    """Of the machines."""


def describe_machine(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What the last bits of drawn images depend on."""
    names = ("processor", "instruction_set", "threads")
    return {name: provenance[name] for name in names} | {"torch": provenance["versions"]["torch"]}


def redraw(
    generator: DrawnGenerator,
    recorded: RecordedDraw,
    load_recorded: Callable[[], Pixels | None],
    *,
    accept_weaker: bool,
    progress: StageProgress,
    threads: int | None = None,
) -> RepeatedDraw:
    """Draw the images of a draw again in the sandbox, with as many ``threads`` as then by default. ``load_recorded``
    returns the recorded images, None without them; it is called unless all pixels are equal. Raises as
    :func:`draw_in_sandbox`."""
    used = threads or recorded.machine["threads"]
    with TemporaryDirectory(prefix="kennel-redraw-") as folder:
        drawn = draw_in_sandbox(
            generator.content,
            generator.latent,
            recorded.digest,
            count=generator.images.count,
            size=generator.images.size,
            values=generator.values,
            out=Path(folder) / "images.npy",
            limits=replace(DEFAULT_LIMITS, threads=used, wall_seconds=SECONDS, cpu_seconds=used * SECONDS),
            accept_weaker=accept_weaker,
            progress=lambda _, fraction: progress(f"drawing {recorded.track} {recorded.number}", fraction),
        )
        same = pixels_sha256(drawn.images) == recorded.pixels_sha256
        comparison = compare_drawings(drawn.images, load_recorded, same=same)
    return RepeatedDraw(
        recorded, comparison, provenance_differences(recorded.machine, describe_machine(drawn.provenance))
    )


def draw_document(repeated: RepeatedDraw) -> dict[str, Any]:
    """A repeated draw as JSON."""
    return {
        "track": repeated.recorded.track,
        "number": repeated.recorded.number,
        "verdict": str(repeated.comparison),
        "equal": repeated.comparison.equal,
        "different": repeated.comparison.different,
        "differences": list(repeated.differences),
    }
