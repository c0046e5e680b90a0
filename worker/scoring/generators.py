"""Generators as entries: the ``check`` job of one, and the ``draw`` job of its images on a track.

Both open the file only in the sandbox. A draw that was stored before its job was interrupted is not drawn again.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import numpy as np
from numpy.typing import NDArray

from scorer.archive import hash_pixels, write_images
from scorer.blobs import DamagedBlob
from scorer.db import competitions
from scorer.db.submissions import draws as rows
from scorer.db.tables import CheckedGenerator, Draw, Submission, Track
from scorer.errors import Invalid, NotFound
from scorer.generators import drawing, seeds
from scorer.generators.limits import CHECK_LIMITS, DEFAULT_LIMITS, DrawingTime
from scorer.generators.onnx_files import DeclaredLatent, ValueRange
from scorer.generators.sandbox.runner import check_in_sandbox, draw_in_sandbox
from scorer.jobs import leases
from scorer.metrics.copying.same_generator import are_nearly_same
from scorer.progress import ProgressCallback
from scorer.submissions import draws, outcomes
from scorer.submissions.draws import NewCheckedGenerator, PublicImages
from scorer.submissions.files import draw_name, image_zips, stored_zip
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat, LeaseLost
from worker.runtime.preemption import preemptible
from worker.runtime.recording import record_result, retry_transaction
from worker.scoring import entry_images
from worker.scoring.reference_features import read_array, write_array

TOLERATED_SLOWNESS = 2
"""A draw may take this much longer than the limit on all draws: its time was predicted, on another processor."""
TOLERATED_WAIT = 3
"""The elapsed time of a draw may be this much longer, on a busy machine."""


def check_generator(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Read the generator of an entry and its latent space, measure its speed, then accept or reject it."""
    with context.transaction() as session:
        submission = session.get_one(Submission, claim.job.submission_ref)
        terms = submission.competition.draws
        digest = draws.load_digest(
            session, submission, "private", number=seeds.FIXED_DRAW, key=context.settings.draw_key
        )
    images = (terms["public"] + terms["private"]) * submission.competition.image_count
    time = DrawingTime(images, terms["minutes"])
    heartbeat("reading", 0.0)
    try:
        entry_images.require_clean(context, submission)
        checked = check_in_sandbox(
            read_generator(context, submission),
            DeclaredLatent(**(submission.latent or {})),
            DeclaredLatent(distribution=terms["distribution"], classes=terms["classes"]),
            size=submission.competition.image_size,
            fixed_digest=digest,
            time=time,
            limits=CHECK_LIMITS,
            accept_weaker=context.settings.accept_weaker_sandbox,
            progress=lambda _, fraction: heartbeat("reading", fraction),
        )
        seconds = time.predict(checked.seconds_per_image)
    except Invalid as fault:
        record_result(heartbeat, outcomes.reject, fault)
        return
    key = f"fixed-images/{submission.id}.npy"
    write_array(context, key, checked.fixed_images)
    new = NewCheckedGenerator(
        network_sha256=checked.network_sha256,
        latent=checked.latent,
        values=checked.values,
        seconds=seconds,
        fixed_images_key=key,
    )
    is_same = cache(partial(_is_same, context, checked.fixed_images))
    with context.transaction() as session:
        others = [other.fixed_images_key for other in rows.team_generators(session, submission)]
    any(map(is_same, others))  # before the team is locked
    record_result(heartbeat, partial(draws.pass_check, is_same=is_same), new)


def read_generator(context: WorkerContext, submission: Submission) -> bytes:
    """The file of a generator; ``DamagedBlob`` if it is not the uploaded one."""
    stored = stored_zip(submission)
    content = context.blobs.read(stored.key)
    if hashlib.sha256(content).hexdigest() != stored.sha256:
        raise DamagedBlob(f"The blob {stored.key} differs from the uploaded file.")
    return content


def _is_same(context: WorkerContext, images: NDArray[np.uint8], stored_key: str) -> bool:
    """Whether these images at the fixed latents are nearly those of another generator."""
    try:
        return are_nearly_same(images, read_array(context, stored_key))
    except NotFound:
        return False


def draw_images(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Draw the images of an entry on a track and queue their score, or end the draws with a fault. Raises ``Preempted``
    between two private draws when a public score waits."""
    with context.transaction() as session:
        submission = session.get_one(Submission, claim.job.submission_ref)
        kind = session.get_one(Track, claim.job.track_id).images_of
        checked = rows.load_checked(session, submission.ref)
        drawn = list(rows.load_draws(session, submission.ref, kind))
    content, count = read_generator(context, submission), submission.competition.draws[kind]
    begin = heartbeat if claim.public else preemptible(context, heartbeat)
    while not _find_fault(drawn) and len(drawn) < count:
        number = len(drawn) + 1
        stage = f"drawing {number} of {count}"
        progress = partial(heartbeat, stage)
        begin(stage, 0.0)
        draw = _draw(context, claim, submission, checked=checked, number=number, content=content, progress=progress)
        if not retry_transaction(context, partial(draws.record_draw, claim=claim, draw=draw)):
            raise LeaseLost(heartbeat.job)
        drawn.append(draw)
    fault = _find_fault(drawn)
    if fault is not None:
        record_result(heartbeat, draws.end_drawing, Invalid("draw-failed", fault))
    elif kind == "public":
        record_result(heartbeat, draws.finish_public, _describe_public(context, submission, heartbeat))
    else:
        record_result(heartbeat, draws.finish_private, entry_images.hash_draw(context, submission, heartbeat))


def _find_fault(drawn: Sequence[Draw]) -> str | None:
    return next((draw.fault for draw in drawn if draw.fault is not None), None)


def _draw(
    context: WorkerContext,
    claim: leases.Claim,
    submission: Submission,
    *,
    checked: CheckedGenerator,
    number: int,
    content: bytes,
    progress: ProgressCallback,
) -> Draw:
    """Draw and store the images of one draw, or find its fault. The key of the blob has the holder of the job, so that
    a worker that has lost it overwrites nothing."""
    with context.transaction() as session:
        kind = session.get_one(Track, claim.job.track_id).images_of
        digest = draws.load_digest(session, submission, kind, number=number, key=context.settings.draw_key)
    spec, name = decoded_images.build_image_spec(submission), draw_name(submission, kind, number)
    decoded_images.make_room(context, decoded_images.count_decoded_bytes(spec))
    path = decoded_images.build_pixels_path(context.scratch, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    seconds = 60 * TOLERATED_SLOWNESS * submission.competition.draws["minutes"]
    made = {"submission_ref": submission.ref, "track_kind": kind, "number": number, "created_at": context.now()}
    try:
        drawn = draw_in_sandbox(
            content,
            draws.latent_of(checked),
            digest,
            count=spec.count,
            size=spec.size,
            values=cast("ValueRange", checked.values),
            out=path,
            limits=replace(
                DEFAULT_LIMITS,
                wall_seconds=TOLERATED_WAIT * seconds,
                cpu_seconds=DEFAULT_LIMITS.threads * seconds,
            ),
            accept_weaker=context.settings.accept_weaker_sandbox,
            progress=lambda _, fraction: progress(fraction),
        )
    except Invalid as fault:
        return Draw(fault=fault.message, bytes=0, provenance={"worker": context.name}, **made)
    key = f"draws/{submission.id}/{kind}-{number}-{claim.job.id}-{claim.holder}.zip"
    with TemporaryDirectory(dir=context.scratch) as folder:
        packed = Path(folder) / "images.zip"
        with packed.open("wb") as file:
            write_images(np.load(path, mmap_mode="r"), file)
        context.blobs.write_file(key, packed)
        with packed.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        size = packed.stat().st_size
    provenance = {**drawn.provenance, "worker": context.name, "pixels_sha256": drawing.pixels_sha256(drawn.images)}
    return Draw(blob_key=key, bytes=size, sha256=sha256, provenance=provenance, **made)


def _describe_public(context: WorkerContext, submission: Submission, heartbeat: Heartbeat) -> PublicImages:
    """Compare the images of the public draws with the training images, and store their sprite sheets and hashes."""
    with context.sessions() as session:
        zips = image_zips(session, submission, "public")
        training = competitions.load_references(session, submission.competition_id)["train"].reference_set
    copies, hashed, drawn = [], [], []
    for stored in zips:
        drawn.append(
            decoded_images.submission_images(context, submission, partial(heartbeat, "decoding"), stored=stored)
        )
        hashed.append(hash_pixels(drawn[-1]))
        copies.append(entry_images.find_copies(context, submission, training, hashes=hashed[-1]))
    return PublicImages(
        exact_copies=round(np.mean([found.exact for found in copies])),
        mirrored_copies=round(np.mean([found.mirrored for found in copies])),
        copied_share=float(np.mean([found.share for found in copies])),
        pixels_sha256=entry_images.content_sha256(np.concatenate(hashed)),
        sprite_key=entry_images.store_sprite_sheet(context, submission, drawn),
    )
