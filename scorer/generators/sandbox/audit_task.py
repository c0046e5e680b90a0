"""What runs inside the sandbox: reads an uploaded generator, and an encoder if there is one, then audits it."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import cast

import torch

from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.encoder import read_encoder
from scorer.generators.onnx.generator import Generator, Range, read_generator
from scorer.generators.recovery.audit import audit_by_encoder, audit_generator
from scorer.generators.recovery.plan import plan_from
from scorer.generators.recovery.report import Audit
from scorer.generators.recovery.targets import EntryTargets, Pixels
from scorer.generators.sandbox.exchange import AuditRequest

StageProgress = Callable[[str, float], None]


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
    latent = Latent(**request.latent)
    begun = time.monotonic()
    progress("reading", 0.0)
    try:
        values = cast("Range | None", request.values)
        generator = read_generator(content, latent, size=train.shape[1], values=values, limits=limits)
        plan = plan_from(request.plan)
        if encoder is None:
            progress("reading", 1.0)
            audit = audit_generator(generator, latent, train, held_out, plan=plan, entry=entry, progress=progress)
        else:
            read = read_encoder(encoder, latent, size=train.shape[1], limits=limits)
            progress("reading", 1.0)
            audit = audit_by_encoder(generator, read, latent, train, held_out, plan=plan, progress=progress)
    except RuntimeError as error:
        if "allocate memory" in str(error) or "bad_alloc" in str(error):
            raise MemoryError from error
        raise
    provenance = _provenance_of(generator) | {"seconds": time.monotonic() - begun, "threads": limits.threads}
    return replace(audit, provenance={**audit.provenance, **provenance})


def _provenance_of(generator: Generator) -> dict[str, str | int]:
    graph = generator.network.graph
    return {
        "opset": graph.opset,
        "nodes": len(graph.nodes),
        "weights": sum(array.size for array in graph.weights.values()),
        "values": generator.values,
    }
