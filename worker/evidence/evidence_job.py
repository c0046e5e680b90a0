"""The ``evidence`` job: computes and records the evidence of a scored entry on a track.

It runs after the score and yields to public scoring. It first compares the entry's images with those of other teams'
entries, once.
"""

import hashlib
import io
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scorer.archive import find_training_image_copies
from scorer.db import competitions
from scorer.db.evidence import shared_images
from scorer.db.evidence.shared_images import HashesOfOther
from scorer.db.submissions import draws, submissions
from scorer.db.tables import ImageComparison, Measurement, Preparation, Submission, Track
from scorer.errors import Conflict, NotFound
from scorer.evidence import records
from scorer.extractors import fingerprint
from scorer.findings.finding import EVIDENCE_VERSION
from scorer.jobs import leases
from scorer.lifecycle import TrackKind
from scorer.metrics.copying.perceptual_hashes import PerceptualHashes, perceptual_hashes
from scorer.metrics.copying.same_generator import MIN_SHARE, nearly_same_share
from scorer.metrics.copying.shared_images import MAX_PAIRS, ImageHashes, OtherEntry, compare_entry
from scorer.progress import StageProgress
from scorer.submissions.files import compared_kind, stored_zip
from worker.evidence.analysis import AnalysedEntry
from worker.evidence.reference import ReferenceAnalysis, analyse_reference
from worker.evidence.report import compute_evidence
from worker.evidence.thumbnails import load_reference_thumbnails
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext, build_extractor_options
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.preemption import preemptible
from worker.runtime.recording import record_result, retry_transaction
from worker.scoring import entry_images, feature_cache
from worker.scoring.feature_cache import ArrayCache, Arrays
from worker.scoring.measure import environment
from worker.scoring.reference_features import (
    SetAddress,
    load_features,
    load_image_names,
    load_images,
    load_mirrored_features,
    load_pixel_hashes,
    load_prepared,
    load_set_addresses,
    read_array,
    require_same_weights,
)

log = logging.getLogger(__name__)


def compare_images(context: WorkerContext, submission: Submission, progress: StageProgress) -> None:
    """Compare an entry with hashed entries of other teams, unless that was done. Raises ``Preempted`` when a public
    score waits.

    Records its own hashes first: of two entries that are compared at the same time, at least one sees the other.
    """
    with context.sessions() as session:
        if session.get(ImageComparison, submission.ref) is not None:
            return
    hashes = load_entry_hashes(context, submission, progress)
    with context.sessions() as session:
        others = shared_images.load_other_hashes(session, submission)
    comparison = compare_entry(hashes, _read(context, others, progress))
    same_latents = find_same_generators(context, submission, progress)
    retry_transaction(
        context,
        lambda session: records.record_comparison(
            session, submission, comparison, same_latents=same_latents, now=context.now()
        ),
    )


def find_same_generators(context: WorkerContext, submission: Submission, progress: StageProgress) -> dict[int, float]:
    """Other teams' generators with nearly the same images at the fixed latents, by ref: the share of these latents."""
    if submission.competition.entries == "images":
        return {}
    with context.sessions() as session:
        own = draws.load_checked(session, submission.ref)
        others = shared_images.load_other_generators(session, submission)
    try:
        own_images = read_array(context, own.fixed_images_key)
    except NotFound:
        log.warning("the fixed images of entry %s are lost: it is not compared", submission.ref)
        return {}
    found = {}
    for number, other in enumerate(others):
        progress("comparing", number / len(others))
        try:
            share = nearly_same_share(own_images, read_array(context, other.fixed_images_key))
        except NotFound:
            log.warning("the fixed images of entry %s are lost: it is not compared", other.submission_ref)
            continue
        if share >= MIN_SHARE:
            found[other.submission_ref] = share
    largest = sorted(found, key=lambda ref: (-found[ref], ref))[:MAX_PAIRS]
    return {ref: found[ref] for ref in largest}


def load_entry_hashes(context: WorkerContext, submission: Submission, progress: StageProgress) -> ImageHashes:
    """The hashes of an entry's images, stored by its check, or computed again if they are lost."""
    with context.sessions() as session:
        key = shared_images.load_hashes_key(session, submission.ref)
    if key is None or not context.blobs.exists(key):
        key = _hash_images(context, submission, progress)
    return entry_images.load_hashes(context, key)


def _hash_images(context: WorkerContext, submission: Submission, progress: StageProgress) -> str:
    key = entry_images.hash_draw(context, submission, progress)
    retry_transaction(
        context, lambda session: shared_images.add_hashes(session, submission.ref, key, now=context.now())
    )
    return key


def _read(context: WorkerContext, others: Sequence[HashesOfOther], progress: StageProgress) -> Iterator[OtherEntry]:
    """The entries with their hashes, without those whose hashes are lost."""
    for number, other in enumerate(others):
        progress("comparing", number / len(others))
        try:
            yield OtherEntry(other.ref, other.team_id, entry_images.load_hashes(context, other.blob_key))
        except NotFound:
            log.warning("the hashes of entry %s are lost: it is not compared with other entries", other.ref)


def make_evidence(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Compare a submission's images with other teams' entries, unless that was done; then compute all evidence on a
    track and record it with its newest measurement.

    The first job that needs results of the references alone computes and caches them. Raises ``Preempted`` when a
    public score waits.
    """
    with context.transaction() as session:
        submission = session.get_one(Submission, claim.job.submission_ref)
        track = session.get_one(Track, claim.job.track_id)
        preparation = session.get_one(Preparation, track.preparation_id)
        measurement = submissions.newest_measurement(session, submission.ref, track.id)
        training = competitions.load_references(session, submission.competition_id)["train"].reference_set
        set_ids = [training.id, preparation.held_out_set_id]
        train, *held_out = load_set_addresses(session, set_ids, preparation.image_size)
    if measurement is None:
        raise Conflict("not-measured", f"{submission.id} has no measurement on this track.")
    progress = preemptible(context, heartbeat)
    if _is_compared(submission, track):
        compare_images(context, submission, progress)
    reference = reference_analysis_in(
        context, train, held_out[0] if held_out else None, preparation=preparation, progress=progress
    )
    statistics = load_prepared(context, preparation.key, signed=preparation.signed).statistics
    entry = _analysed_entry(
        context, submission, measurement, track=track, train=train, preparation=preparation, progress=progress
    )
    seed = derive_seed(stored_zip(submission).sha256, preparation.key)
    names = [f"{train.sha256[:8]}/{name}" for name in load_image_names(context, train)]
    report = compute_evidence(
        entry,
        reference,
        statistics,
        reference_names=names,
        seed=seed,
        progress=lambda share: progress("evidence", share),
    )
    provenance = {
        "version": EVIDENCE_VERSION,
        "reference": preparation.key,
        "seconds": report.seconds,
        "worker": context.name,
    }
    evidence = records.NewEvidence(
        preparation_id=preparation.id,
        measurement_id=measurement.id,
        seed=seed,
        findings=report.findings,
        details=report.details,
        numbers=report.numbers,
        provenance=environment() | provenance,
    )
    record_result(heartbeat, records.record_evidence, evidence)
    feature_cache.delete_features(context, submission, claim.job.track_id, identity=preparation.extractor)


def _is_compared(submission: Submission, track: Track) -> bool:
    """Whether the entry's images on a track are compared with other teams' entries."""
    return submission.competition.entries == "images" or track.images_of == compared_kind(submission)


def derive_seed(zip_sha256: str, reference: str) -> int:
    """The seed of all random draws, in [0, 2^32): the same for the same zip and the same reference."""
    return int(hashlib.sha256(f"{EVIDENCE_VERSION}|{zip_sha256}|{reference}".encode()).hexdigest()[:8], 16)


def reference_analysis_in(
    context: WorkerContext,
    train: SetAddress,
    held_out: SetAddress | None,
    *,
    preparation: Preparation,
    progress: StageProgress,
) -> ReferenceAnalysis:
    """The results of the references alone, from the blob store, or computed now and stored there."""
    identity = preparation.extractor
    extractor = fingerprint(identity, build_extractor_options(context.settings))[:16]
    held_out_name = held_out.sha256[:16] if held_out else "alone"
    folder = f"{train.folder}/evidence-{extractor}-{EVIDENCE_VERSION}/{held_out_name}"
    return analyse_reference(
        load_features(context, train, identity, progress=progress),
        load_mirrored_features(context, train, identity, progress=progress),
        load_features(context, held_out, identity, progress=progress) if held_out else None,
        thumbnails=load_reference_thumbnails(
            lambda: load_images(context, train, progress),
            (lambda: load_images(context, held_out, progress)) if held_out else None,
            cache=_array_cache_in(context, folder),
        ),
        signed=preparation.signed,
        cache=_array_cache_in(context, folder),
        progress=lambda share: progress("grounds", share),
    )


def _array_cache_in(context: WorkerContext, folder: str) -> ArrayCache:
    """An array cache in a folder of the blob store. Two workers that fill it at the same time write the same bytes."""

    def load_or_make(name: str, make: Callable[[], Arrays]) -> Arrays:
        key = f"{folder}/{name}.npz"
        if not context.blobs.exists(key):
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **make())
            context.blobs.write(key, buffer.getvalue())
        with np.load(io.BytesIO(context.blobs.read(key)), allow_pickle=False) as arrays:
            return dict(arrays)

    return load_or_make


def _analysed_entry(
    context: WorkerContext,
    submission: Submission,
    measurement: Measurement,
    *,
    track: Track,
    train: SetAddress,
    preparation: Preparation,
    progress: StageProgress,
) -> AnalysedEntry:
    cached = feature_cache.load_features(context, submission, track, identity=preparation.extractor, progress=progress)
    extractor = context.extractor(preparation.extractor)
    require_same_weights(extractor.provenance, preparation)
    drawn = measurement.draws or [vars(measurement)]
    features = cached.features[: len(cached.hashes)]
    return AnalysedEntry(
        names=decoded_images.image_names(context, submission, track.images_of),
        extractor=extractor.spec.name,
        features=features,
        hashes=cached.hashes,
        mirrored_hashes=cached.mirrored_hashes,
        thumbnails=cached.thumbnails,
        perceptual_hashes=_load_perceptual_hashes(context, submission, track, progress=progress),
        copies=find_training_image_copies(cached.hashes, *load_pixel_hashes(context, train)),
        logits=extractor.logits(features),
        fid=drawn[0]["fid"],
        distance=drawn[0]["memorization_distance"],
        distance_se=measurement.distance_se and measurement.distance_se * math.sqrt(len(drawn)),
        draws=_load_draws(context, submission, track, progress=progress),
        features_of_draws=cached.features,
    )


def _load_draws(
    context: WorkerContext, submission: Submission, track: Track, *, progress: StageProgress
) -> list[NDArray[np.uint8]]:
    """The images of a generator's draws on a track; on the private one also its public draws, which come after. Empty
    for a zip."""
    if submission.competition.entries == "images":
        return []
    kinds: tuple[TrackKind, ...] = ("public",) if track.images_of == "public" else ("private", "public")
    return [
        images for kind in kinds for images in decoded_images.load_draws(context, submission, kind, progress=progress)
    ]


def _load_perceptual_hashes(
    context: WorkerContext, submission: Submission, track: Track, *, progress: StageProgress
) -> PerceptualHashes:
    """Of the entry's images on a track; stored only for compared images."""
    if _is_compared(submission, track):
        return load_entry_hashes(context, submission, progress).perceptual
    stored = decoded_images.load_image_zips(context, submission, track.images_of)[0]
    return perceptual_hashes(
        decoded_images.submission_images(context, submission, partial(progress, "decoding"), stored=stored)
    )
