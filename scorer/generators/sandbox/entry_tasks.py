"""The tasks inside the sandbox that concern entries: checking a generator, and drawing its images."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from scorer.errors import Invalid
from scorer.generators.limits import DrawingTime, GeneratorLimits
from scorer.generators.onnx.canonical import network_sha256
from scorer.generators.onnx.entry import EntryGenerator, draw_images, read_entry
from scorer.generators.onnx.generator import detect_range
from scorer.generators.onnx_files import DeclaredLatent
from scorer.generators.sandbox.exchange import GENERATOR, IMAGES, Arrays, Report, Request, npy_header
from scorer.generators.seeds import FIXED_LATENTS, PROBE_DIGEST, Latents, latents
from scorer.process_resources import keep_freed_memory
from scorer.progress import StageProgress

TIMED = 8
"""Images that show whether a generator is much too slow."""
MARGIN = 2.0
"""They take up to this much longer than in a full batch."""
CHECKED = 6 * FIXED_LATENTS
"""About as many images as a check computes."""


def run_check(folder: Path, request: Request, progress: StageProgress) -> tuple[Report, Arrays]:
    """Read a generator, measure the range of its values and its time at the latents of ``PROBE_DIGEST``, and draw its
    images at the fixed latents."""
    entry, digest = _read(folder, request, progress)
    probes = latents(PROBE_DIGEST, entry.latent, stop=FIXED_LATENTS)
    with keep_freed_memory():
        _timed(entry, probes[:TIMED])  # the first run takes longer
        seconds, _ = _timed(entry, probes[:TIMED])
        _refuse_slow(seconds, request)
        progress("running", 0.2)
        seconds, images = _timed(entry, probes)
        values = detect_range(images)
        progress("running", 0.4)
        for _ in draw_images(entry, PROBE_DIGEST, FIXED_LATENTS, values=values):
            progress("running", 0.6)
        progress("running", 0.8)
        points = latents(digest, entry.latent, stop=FIXED_LATENTS)
        fixed = entry.fixed_pixels(points, values, side=images.shape[-1])
    report: dict[str, Any] = {
        "network_sha256": network_sha256(entry.graph),
        "latent": asdict(entry.latent),
        "values": values,
        "seconds_per_image": seconds,
        "provenance": entry.graph.sizes(),
    }
    return report, {"fixed_images": fixed}


def run_draw(folder: Path, request: Request, progress: StageProgress) -> tuple[Report, Arrays]:
    """Draw images into a file, from a generator that has passed its check: tracing its shapes again would import a
    compiler, which takes longer than most draws."""
    entry, digest = _read(folder, request, progress, trace=False)
    count, size = request.parameters["count"], request.parameters["size"]
    done = 0
    with keep_freed_memory(), (folder / IMAGES).open("wb") as file:
        file.write(npy_header((count, size, size, 3)))
        for pixels in draw_images(entry, digest, count, values=request.parameters["values"]):
            file.write(pixels.data)
            done += len(pixels)
            progress("drawing", done / count)
    return {"provenance": entry.graph.sizes()}, {}


def _read(
    folder: Path, request: Request, progress: StageProgress, *, trace: bool = True
) -> tuple[EntryGenerator, bytes]:
    """The generator, and the digest of its latents."""
    progress("reading", 0.0)
    declared, default = (DeclaredLatent(**part) for part in request.parameters["latent"])
    entry = read_entry(
        (folder / GENERATOR).read_bytes(),
        declared,
        default,
        size=request.parameters["size"],
        limits=GeneratorLimits(**request.limits),
        trace=trace,
    )
    progress("reading", 1.0)
    return entry, bytes.fromhex(request.parameters["digest"])


def _timed(entry: EntryGenerator, points: Latents) -> tuple[float, Tensor]:
    """The seconds per image, and the images."""
    begun = time.perf_counter()
    images = entry.run(points)
    return (time.perf_counter() - begun) / len(points), images


def _refuse_slow(seconds: float, request: Request) -> None:
    if (time_limit := request.parameters.get("time")) is not None:
        DrawingTime(*time_limit).predict(seconds, margin=MARGIN)
    limit = request.limits["wall_seconds"]
    if seconds * CHECKED > limit:
        raise Invalid(
            "out-of-time",
            f"The generator takes {seconds:,.1f} seconds per image, so the check would exceed its limit of {limit:,} "
            "seconds.",
        )
