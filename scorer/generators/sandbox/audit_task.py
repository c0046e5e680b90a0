"""The inside of the sandbox: read the generator, then audit it."""

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
from scorer.generators.sandbox.exchange import AuditRequest, Pixels

StageProgress = Callable[[str, float], None]


def run_audit(
    errand: tuple[bytes, Pixels, Pixels, AuditRequest],
    limits: GeneratorLimits,
    progress: StageProgress,
    encoder: bytes | None = None,
) -> Audit:
    """The audit of the generator in an errand, with its provenance; by an encoder, if there is one.

    Raises ``Invalid`` as reading and auditing do, ``MemoryError`` where the process may not have more.
    """
    content, train, held_out, request = errand
    torch.set_num_threads(limits.threads)
    latent, begun = Latent(**request.latent), time.monotonic()
    progress("reading", 0.0)
    try:
        values = cast("Range | None", request.values)
        generator = read_generator(content, latent, size=train.shape[1], values=values, limits=limits)
        plan = plan_from(request.plan)
        if encoder is None:
            progress("reading", 1.0)
            found = audit_generator(generator, latent, train, held_out, plan=plan, progress=progress)
        else:
            code = read_encoder(encoder, latent, size=train.shape[1], limits=limits)
            progress("reading", 1.0)
            found = audit_by_encoder(generator, code, latent, train, held_out, plan=plan, progress=progress)
    except RuntimeError as error:
        if "allocate memory" in str(error) or "bad_alloc" in str(error):
            raise MemoryError from error
        raise
    told = _of_generator(generator) | {"seconds": time.monotonic() - begun, "threads": limits.threads}
    return replace(found, provenance={**found.provenance, **told})


def _of_generator(generator: Generator) -> dict[str, str | int]:
    graph = generator.network.graph
    return {
        "opset": graph.opset,
        "nodes": len(graph.nodes),
        "weights": sum(array.size for array in graph.weights.values()),
        "values": generator.values,
    }
