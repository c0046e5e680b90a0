"""The ``recover`` job: audits an entry's uploaded generator by latent recovery of training and held-out images."""

import hashlib
import io
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.archive.reference_image import round_to_uint8
from scorer.blobs import Blobs, DamagedBlob
from scorer.db import competitions
from scorer.db.tables import GeneratorFile, Submission
from scorer.errors import Conflict, Invalid, TooLarge
from scorer.evidence import generator_audits
from scorer.evidence.generator_audits import AuditResult
from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.recovery.plan import AuditPlan, plan_from
from scorer.generators.recovery.report import TARGET_KINDS, Audit
from scorer.generators.sandbox.runner import audit_in_sandbox
from scorer.jobs.broker import transaction
from scorer.jobs.leases import Claim
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.preemption import preemptible
from worker.runtime.progress import StageProgress
from worker.runtime.recording import record_result
from worker.scoring.provenance import environment
from worker.scoring.reference_features import SetAddress, images_of, names_of


@dataclass(frozen=True)
class AuditInputs:
    """The generator to search and the image sets to search it for."""

    generator: GeneratorFile
    submission: Submission
    train: SetAddress
    held_out: SetAddress


def run_generator_audit(context: WorkerContext, claim: Claim, heartbeat: Heartbeat) -> None:
    """Audit the claimed generator and record the result, or why the file is refused. ``LeaseLost`` if another worker
    has the job.

    The file is opened only in the sandbox, a process that ends when a public score waits.
    """
    inputs = _audit_inputs(context, claim)
    progress = preemptible(context, heartbeat)
    plan = plan_from({**context.settings.recovery, "seed": inputs.generator.seed})
    provenance = environment() | {"worker": context.name, "generator_sha256": inputs.generator.sha256}
    train, held_out = (_images(context, address, progress) for address in (inputs.train, inputs.held_out))
    provenance |= {"train_sha256": inputs.train.sha256, "held_out_sha256": inputs.held_out.sha256}
    try:
        audit = _audit(context, inputs, train, held_out, plan, progress)
    except (Invalid, TooLarge) as error:
        refusal = error
        record_result(
            context,
            heartbeat,
            lambda session: generator_audits.record_refusal(session, claim, refusal, provenance, now=context.now()),
        )
        return
    key = f"recoveries/{inputs.submission.id}/{claim.generator_id}-{claim.job_id}-{claim.holder}.npz"
    _store_arrays(context.blobs, key, audit)
    made = _audit_record_of(context, inputs, audit, key, provenance)
    record_result(
        context, heartbeat, lambda session: generator_audits.record_audit(session, claim, made, now=context.now())
    )


def _audit_inputs(context: WorkerContext, claim: Claim) -> AuditInputs:
    with transaction(context.sessions, context.broker) as session:
        generator = session.get_one(GeneratorFile, claim.generator_id)
        submission = session.get_one(Submission, generator.submission_ref)
        attached = competitions.references_of(session, submission.competition_id)
    missing = {"train", "held_out"} - attached.keys()
    if missing:
        raise Conflict(
            "no-references", f"The competition has no images in the role of {' and '.join(sorted(missing))}."
        )
    train, held_out = (
        SetAddress(each.sha256, each.blob_key, submission.competition.image_size)
        for each in (attached[role].reference_set for role in ("train", "held_out"))
    )
    return AuditInputs(generator, submission, train, held_out)


def _images(context: WorkerContext, address: SetAddress, progress: StageProgress) -> NDArray[np.uint8]:
    """A set's images at the competition's size, (n, s, s, 3) uint8, as generators make them."""
    return round_to_uint8(images_of(context, address, lambda _, fraction: progress("reference-decoding", fraction)))


def _audit(
    context: WorkerContext,
    inputs: AuditInputs,
    train: NDArray[np.uint8],
    held_out: NDArray[np.uint8],
    plan: AuditPlan,
    progress: StageProgress,
) -> Audit:
    content = context.blobs.read(inputs.generator.blob_key)
    if hashlib.sha256(content).hexdigest() != inputs.generator.sha256:
        raise DamagedBlob(f"The blob {inputs.generator.blob_key} is not what was handed in.")
    return audit_in_sandbox(
        content,
        Latent(inputs.generator.dimension, "normal" if inputs.generator.distribution == "normal" else "uniform"),
        train,
        held_out,
        plan=plan,
        limits=GeneratorLimits(),
        accept_weaker=context.settings.accept_weaker_sandbox,
        progress=lambda stage, fraction: progress(job_stage_of(stage), fraction),
    )


def job_stage_of(audit_stage: str) -> str:
    """The job's stage, a key of ``scorer.lifecycle.STAGES``, for a stage of the audit. All distortions are one."""
    return f"recover-{audit_stage if audit_stage in {*TARGET_KINDS, 'reading'} else 'distorted'}"


def _audit_record_of(
    context: WorkerContext, inputs: AuditInputs, audit: Audit, key: str, provenance: dict[str, Any]
) -> AuditResult:
    report = audit.report()
    measured = report["measured"]
    return AuditResult(
        p_value=measured["p_value"],
        gap=measured["gap"],
        recovered_share=measured["generated_verbatim"],
        report=report | {"pairs": _pairs(context, inputs, audit)},
        arrays_key=key,
        provenance=provenance,
    )


def _pairs(context: WorkerContext, inputs: AuditInputs, audit: Audit) -> dict[str, list[dict[str, Any]]]:
    """For every pair that is shown its error and the name of its reference image (None for generated targets)."""
    names = {
        kind: names_of(context, address) for kind, address in (("train", inputs.train), ("held_out", inputs.held_out))
    }
    return {
        kind: [
            {"error": float(error), "name": names[kind][index] if kind in names else None}
            for error, index in zip(pairs.error, pairs.index, strict=True)
        ]
        for kind, pairs in audit.pairs.items()
    }


def _store_arrays(blobs: Blobs, key: str, audit: Audit) -> None:
    buffer = io.BytesIO()
    arrays: dict[str, Any] = audit.arrays()
    np.savez_compressed(buffer, **arrays)
    blobs.write(key, buffer.getvalue())
