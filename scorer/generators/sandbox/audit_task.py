"""The task inside the sandbox: reads an uploaded generator, and an encoder if there is one, then audits it."""

from dataclasses import replace
from pathlib import Path

from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.encoder import read_encoder, read_image_to_image
from scorer.generators.onnx.generator import Generator, detect_range, read_generator
from scorer.generators.recovery.audit import audit_by_encoder, audit_generator
from scorer.generators.recovery.by_encoder import EncoderFunction
from scorer.generators.recovery.plan import AuditPlan, plan_from
from scorer.generators.recovery.report import Audit
from scorer.generators.recovery.search import to_targets
from scorer.generators.sandbox.exchange import Arrays, AuditInputs, Report, Request, read_inputs
from scorer.progress import StageProgress

PROBE_IMAGES = 16
"""The training images from which the range of an image-to-image network's values is inferred."""


def run(folder: Path, request: Request, progress: StageProgress) -> tuple[Report, Arrays]:
    latent = request.parameters["latent"]
    audit = run_audit(
        read_inputs(folder),
        None if latent is None else Latent(**latent),
        plan_from(request.parameters["plan"]),
        limits=GeneratorLimits(**request.limits),
        progress=progress,
    )
    return audit.report(), audit.arrays()


def run_audit(
    inputs: AuditInputs, latent: Latent | None, plan: AuditPlan, *, limits: GeneratorLimits, progress: StageProgress
) -> Audit:
    """Audit the generator in ``inputs``: with the encoder if there is one, otherwise by search and with the entry if
    there is one. Returns the audit with its provenance. Raises the ``Invalid`` errors of reading and auditing.
    """
    train, held_out = inputs.train, inputs.held_out
    progress("reading", 0.0)
    generator, encode = _read_networks(inputs, latent, limits)
    progress("reading", 1.0)
    if latent is None or encode is not None:
        encode = encode or (lambda images: images)  # for a network that encodes and decodes
        audit = audit_by_encoder(
            generator, encode, latent, train=train, held_out=held_out, plan=plan, progress=progress
        )
    else:
        audit = audit_generator(
            generator, latent, train, held_out=held_out, plan=plan, entry=inputs.entry, progress=progress
        )
    provenance = generator.network.graph.sizes() | {"values": generator.values}
    return replace(audit, provenance={**audit.provenance, **provenance})


def _read_networks(
    inputs: AuditInputs, latent: Latent | None, limits: GeneratorLimits
) -> tuple[Generator, EncoderFunction | None]:
    """The generator, and the encoder if there is one. Without a latent space, both map images to images."""
    size, encoder = inputs.train.shape[1], inputs.encoder
    if latent is not None:
        generator = read_generator(inputs.content, latent, size=size, limits=limits)
        return generator, None if encoder is None else read_encoder(encoder, latent, size=size, limits=limits)
    translator = read_image_to_image(inputs.content, size=size, limits=limits)
    other = None if encoder is None else read_image_to_image(encoder, size=size, limits=limits)
    probes = to_targets(inputs.train[:PROBE_IMAGES])
    translator.values = detect_range(translator(probes if other is None else other(probes)))
    return translator, other
