"""The check and the draws of trusted generators in this process, which already has torch, without the sandbox."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deploy.cli import redraw as redraw_command
from scorer.generators.latents import Latent
from scorer.generators.limits import DEFAULT_LIMITS
from scorer.generators.onnx.canonical import network_sha256
from scorer.generators.onnx.entry import draw_images, read_entry
from scorer.generators.onnx.generator import detect_range
from scorer.generators.onnx_files import DeclaredLatent, ValueRange
from scorer.generators.sandbox.child import describe_environment
from scorer.generators.sandbox.runner import DrawnImages, GeneratorCheck
from scorer.generators.seeds import FIXED_LATENTS, PROBE_DIGEST, latents
from worker.scoring import generators, redraw


def check(
    content: bytes,
    declared: DeclaredLatent,
    default: DeclaredLatent,
    *,
    size: int,
    fixed_digest: bytes = PROBE_DIGEST,
    **_: Any,
) -> GeneratorCheck:
    entry = read_entry(content, declared, default, size=size, limits=DEFAULT_LIMITS)
    probed = entry.run(latents(PROBE_DIGEST, entry.latent, stop=FIXED_LATENTS))
    values = detect_range(probed)
    list(draw_images(entry, PROBE_DIGEST, FIXED_LATENTS, values=values))
    images = entry.fixed_pixels(latents(fixed_digest, entry.latent, stop=FIXED_LATENTS), values, side=probed.shape[-1])
    return GeneratorCheck(network_sha256(entry.graph), entry.latent, values, 0.001, images, {})


def draw(
    content: bytes,
    latent: Latent,
    digest: bytes,
    *,
    count: int,
    size: int,
    values: ValueRange,
    out: Path,
    progress: Any,
    **_: Any,
) -> DrawnImages:
    declared = DeclaredLatent(latent.dimension, latent.distribution, latent.classes or 0)
    entry = read_entry(content, declared, DeclaredLatent(), size=size, limits=DEFAULT_LIMITS)
    images = np.concatenate(list(draw_images(entry, digest, count, values=values)))
    np.save(out, images)
    progress("drawing", 1.0)
    return DrawnImages(images, {"threads": DEFAULT_LIMITS.threads, **describe_environment()})


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers and ``kennel verify`` check and draw in this process."""
    for module in (generators, redraw_command):
        monkeypatch.setattr(module, "check_in_sandbox", check)
    for module in (generators, redraw):
        monkeypatch.setattr(module, "draw_in_sandbox", draw)
