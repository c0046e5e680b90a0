"""What runs inside the sandbox: reads an uploaded generator, and an encoder if there is one, then audits it."""

import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.encoder import ImageToImage, read_encoder, read_image_to_image
from scorer.generators.onnx.generator import Generator, read_generator
from scorer.generators.recovery.audit import audit_by_encoder, audit_generator
from scorer.generators.recovery.by_encoder import EncoderFunction
from scorer.generators.recovery.plan import plan_from
from scorer.generators.recovery.report import Audit
from scorer.generators.recovery.search import targets_of
from scorer.generators.recovery.targets import EntryTargets, Pixels
from scorer.generators.sandbox.exchange import AuditRequest

StageProgress = Callable[[str, float], None]
PROBE_IMAGES = 16
"""Training images from which the range of an image-to-image network's values is inferred."""


def run_audit(
    inputs: tuple[bytes, Pixels, Pixels, AuditRequest],
    limits: GeneratorLimits,
    progress: StageProgress,
    *,
    encoder: bytes | None = None,
    entry: EntryTargets | None = None,
) -> Audit:
    """Audit the generator in ``inputs``, by the encoder if there is one, else comparing the entry if there is one;
    returns the audit with its provenance.

    Raises ``Invalid`` as reading and auditing do, ``MemoryError`` at the process's memory limit.
    """
    content, train, held_out, request = inputs
    torch.set_num_threads(limits.threads)
    latent = None if request.latent is None else Latent(**request.latent)
    begun = time.monotonic()
    progress("reading", 0.0)
    try:
        generator, encode = _read_networks(content, encoder, latent, train=train, limits=limits)
        plan = plan_from(request.plan)
        progress("reading", 1.0)
        if latent is None or encode is not None:
            encode = encode or _unchanged
            audit = audit_by_encoder(
                generator, encode, latent, train=train, held_out=held_out, plan=plan, progress=progress
            )
        else:
            audit = audit_generator(
                generator, latent, train, held_out=held_out, plan=plan, entry=entry, progress=progress
            )
    except RuntimeError as error:
        if "allocate memory" in str(error) or "bad_alloc" in str(error):
            raise MemoryError from error
        raise
    provenance = _provenance_of(generator) | {"seconds": time.monotonic() - begun, "threads": limits.threads}
    return replace(audit, provenance={**audit.provenance, **provenance})


def _read_networks(
    content: bytes,
    encoder: bytes | None,
    latent: Latent | None,
    *,
    train: Pixels,
    limits: GeneratorLimits,
) -> tuple[Generator | ImageToImage, EncoderFunction | None]:
    """The generator, and the encoder if there is one. Without a latent space both make images of images."""
    size = train.shape[1]
    if latent is not None:
        generator = read_generator(content, latent, size=size, limits=limits)
        return generator, None if encoder is None else read_encoder(encoder, latent, size=size, limits=limits)
    translator = read_image_to_image(content, size=size, limits=limits)
    other = None if encoder is None else read_image_to_image(encoder, size=size, limits=limits)
    probes = targets_of(train[:PROBE_IMAGES])
    translator.set_range(probes if other is None else other(probes))
    return translator, other


def _unchanged(images: Tensor) -> Tensor:
    """The images themselves, for a network that encodes and decodes."""
    return images


def _provenance_of(generator: Generator | ImageToImage) -> dict[str, str | int]:
    graph = generator.network.graph
    return {
        "opset": graph.opset,
        "nodes": len(graph.nodes),
        "weights": sum(array.size for array in graph.weights.values()),
        "values": generator.values,
    }
