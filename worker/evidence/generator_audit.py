"""The ``recover`` job: audits the uploaded generator of an entry by latent recovery."""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.archive.reference_image import round_to_uint8
from scorer.blobs import Blobs, DamagedBlob
from scorer.db import competitions
from scorer.db.evidence import shared_images
from scorer.db.tables import GeneratorFile, Preparation, Submission
from scorer.errors import Conflict, Invalid, TooLarge
from scorer.evidence import generator_audits
from scorer.evidence.generator_audits import AuditResult
from scorer.generators.recovery.plan import AuditPlan, plan_from
from scorer.generators.recovery.report import Audit
from scorer.generators.recovery.targets import EntryTargets
from scorer.generators.sandbox.runner import audit_in_sandbox
from scorer.jobs.leases import Claim
from scorer.metrics.copying.latent_recovery import TARGET_KINDS, VERBATIM
from scorer.metrics.copying.same_generator import MIN_SHARE
from scorer.progress import StageProgress
from scorer.submissions.draws import latent_of
from scorer.submissions.files import stored_zip
from worker.evidence.entry_sample import EntrySample, compare_features, sample_entry
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.preemption import preemptible
from worker.runtime.recording import record_result
from worker.scoring.measure import environment
from worker.scoring.reference_features import (
    SetAddress,
    load_features,
    load_image_names,
    load_images,
    read_array,
    require_same_weights,
)

OTHERS, IMAGES_OF_OTHER = 4, 16
"""How many generators of other teams are compared, and how many of their images are searched for."""


@dataclass(frozen=True)
class AuditInputs:
    """The generator to search and the image sets to search it for."""

    generator: GeneratorFile
    submission: Submission
    train: SetAddress
    held_out: SetAddress
    preparation: Preparation
    """Preparation of the public track; its features determine the entry's nearest images."""


def run_generator_audit(context: WorkerContext, claim: Claim, heartbeat: Heartbeat) -> None:
    """Audit the claimed generator and record the result, or why the file is refused. Raises ``LeaseLost`` if another
    worker has the job.

    The file is opened only in the sandbox, a process that ends when a public score waits.
    """
    inputs = _audit_inputs(context, claim)
    progress = preemptible(context, heartbeat)
    plan = plan_from({**context.settings.recovery, "seed": inputs.generator.seed})
    provenance = environment() | {"worker": context.name, "generator_sha256": inputs.generator.sha256}
    train, held_out = (_images(context, address, progress) for address in (inputs.train, inputs.held_out))
    provenance |= {"train_sha256": inputs.train.sha256, "held_out_sha256": inputs.held_out.sha256}
    sample = _entry_sample(context, inputs, plan, progress=progress)
    others = _load_others(context, inputs) if sample is not None else {}
    try:
        audit = audit_in_sandbox(
            _content(context.blobs, inputs),
            latent_of(inputs.generator),
            train,
            held_out=held_out,
            plan=plan,
            entry=None if sample is None else _entry_targets(sample, inputs, others),
            accept_weaker=context.settings.accept_weaker_sandbox,
            progress=lambda stage, fraction: progress(to_job_stage(stage), fraction),
        )
    except (Invalid, TooLarge) as error:
        record_result(heartbeat, partial(generator_audits.record_refusal, provenance=provenance), error)
        return
    if sample is not None:
        audit = compare_features(audit, sample)
    key = f"recoveries/{inputs.submission.id}/{claim.job.generator_id}-{claim.job.id}-{claim.holder}.npz"
    _store_arrays(context.blobs, key, audit)
    report = audit.report()
    result = AuditResult(
        p_value=report["measured"]["p_value"],
        gap=report["measured"]["gap"],
        recovered_share=report["measured"]["generated_verbatim"],
        report=report | {"pairs": _pairs(context, inputs, audit, sample=sample)},
        arrays_key=key,
        provenance=provenance,
    )
    recovered = _recovered_shares(audit, others)
    record_result(heartbeat, partial(generator_audits.record_audit, recovered=recovered), result)


def _load_others(context: WorkerContext, inputs: AuditInputs) -> dict[int, NDArray[np.uint8]]:
    """Some images of other teams' generators with similar public FIDs, by ref: a generator may be another one with its
    latents turned, so that no latent has the same image."""
    if not inputs.generator.is_entry:
        return {}
    with context.sessions() as session:
        others = shared_images.nearest_generators(session, inputs.submission, limit=OTHERS)
    return {
        other.submission_ref: read_array(context, other.fixed_images_key)[:IMAGES_OF_OTHER]
        for other in others
        if context.blobs.exists(other.fixed_images_key)
    }


def _entry_targets(sample: EntrySample, inputs: AuditInputs, others: Mapping[int, NDArray[np.uint8]]) -> EntryTargets:
    joined = np.concatenate(list(others.values())) if others else None
    return replace(sample.targets, others=joined, drawn=inputs.generator.is_entry)


def _recovered_shares(audit: Audit, others: Mapping[int, NDArray[np.uint8]]) -> dict[int, float]:
    """The shares of others' images that look the same as some image of the generator, where they are large, and far
    larger than that of held-out images."""
    if not others:
        return {}
    found = (audit.errors["others"] < VERBATIM).reshape(len(others), -1).mean(axis=1).tolist()
    least = max(MIN_SHARE, 2.0 * float((audit.errors["held_out"] < VERBATIM).mean()))
    return {ref: share for ref, share in zip(others, found, strict=True) if share >= least}


def _audit_inputs(context: WorkerContext, claim: Claim) -> AuditInputs:
    with context.transaction() as session:
        generator = session.get_one(GeneratorFile, claim.job.generator_id)
        submission = session.get_one(Submission, generator.submission_ref)
        attached = competitions.load_references(session, submission.competition_id)
        track = competitions.load_tracks(session, submission.competition_id)["public"]
        preparation = session.get_one(Preparation, track.preparation_id)
    missing = {"train", "held_out"} - attached.keys()
    if missing:
        raise Conflict("no-references", f"The competition has no images with the role {' and '.join(sorted(missing))}.")
    train, held_out = (
        SetAddress(image_set.sha256, image_set.blob_key, submission.competition.image_size)
        for image_set in (attached[role].reference_set for role in ("train", "held_out"))
    )
    return AuditInputs(generator, submission, train, held_out, preparation)


def _images(context: WorkerContext, address: SetAddress, progress: StageProgress) -> NDArray[np.uint8]:
    """A set's images at the competition's size, (n, s, s, 3) uint8, as generators make them."""
    return round_to_uint8(load_images(context, address, lambda _, fraction: progress("reference-decoding", fraction)))


def _entry_sample(
    context: WorkerContext, inputs: AuditInputs, plan: AuditPlan, *, progress: StageProgress
) -> EntrySample | None:
    """Images chosen with the public track's features; None if the entry's images have been removed."""
    submission, identity = inputs.submission, inputs.preparation.extractor
    stored = decoded_images.find_images(context, submission)
    if stored is None:
        return None
    images = decoded_images.submission_images(
        context, submission, lambda share: progress("decoding", share), stored=stored
    )
    extractor = context.extractor(identity)
    require_same_weights(extractor.provenance, inputs.preparation)
    return sample_entry(
        images,
        lambda some: extractor.features(some, progress=lambda share: progress("features", share)),
        lambda: [
            load_features(context, image_set, identity, progress=progress)
            for image_set in (inputs.train, inputs.held_out)
        ],
        plan=plan,
        signed=inputs.preparation.signed,
    )


def _content(blobs: Blobs, inputs: AuditInputs) -> bytes:
    key = inputs.generator.blob_key or stored_zip(inputs.submission).key
    content = blobs.read(key)
    if hashlib.sha256(content).hexdigest() != inputs.generator.sha256:
        raise DamagedBlob(f"The blob {key} differs from the uploaded file.")
    return content


def to_job_stage(audit_stage: str) -> str:
    """The job's stage, a key of ``scorer.lifecycle.STAGES``. All distortions share one stage."""
    stages = {*TARGET_KINDS, "reading", "stability", "others"}
    return f"recover-{audit_stage if audit_stage in stages else 'distorted'}"


def _pairs(
    context: WorkerContext, inputs: AuditInputs, audit: Audit, *, sample: EntrySample | None
) -> dict[str, list[dict[str, Any]]]:
    """For every shown pair its error and the name of the target image (None for generated targets)."""
    train, held_out = (load_image_names(context, address) for address in (inputs.train, inputs.held_out))
    names: dict[str, Sequence[str]] = {"train": train, "near_train": train}
    names |= {"held_out": held_out, "near_held_out": held_out}
    if sample is not None:
        entry = decoded_images.image_names(context, inputs.submission)
        names["generated" if inputs.generator.is_entry else "entry"] = [entry[row] for row in sample.rows]
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
