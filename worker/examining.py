"""Examining a scored entry on a track: evidence, after the score and never in its way."""

import hashlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np

from scorer.archive import find_training_image_copies, list_images
from scorer.db import competitions
from scorer.db.submissions import submissions
from scorer.db.tables import Measurement, Preparation, Submission, Track
from scorer.errors import Conflict
from scorer.evidence import records
from scorer.extractors import fingerprint
from scorer.jobs import leases
from scorer.jobs.broker import transaction
from scorer.submissions.files import stored_zip
from worker import kept_features, pixels
from worker.bench import Bench, options_of
from worker.case import Entry
from worker.courtesy import courteous
from worker.evidence import VERSION, Found, evidence_of
from worker.grounds import Grounds, grounds_of
from worker.heartbeat import Heartbeat, LeaseLost
from worker.keeping import Arrays, Keep
from worker.measuring import Progress
from worker.provenance import environment
from worker.references import (
    SetAddress,
    features_of,
    images_of,
    load_prepared,
    mirrored_features_of,
    names_of,
    pixel_hashes_of,
    require_same_network,
)
from worker.small import small_of


def examine(bench: Bench, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Make all evidence of a submission on a track and record it beside its newest measurement.

    What belongs to the references alone is made by whoever comes first, and kept. Whenever a public score waits, the
    entry is put back (``Displaced``).
    """
    with transaction(bench.sessions, bench.broker) as session:
        submission = session.get_one(Submission, claim.submission_ref)
        track = session.get_one(Track, claim.track_id)
        preparation = session.get_one(Preparation, track.preparation_id)
        measurement = submissions.newest_measurement(session, submission.ref, track.id)
        training = competitions.references_of(session, submission.competition_id)["train"].reference_set
        fresh = competitions.reference_sets(
            session, [preparation.held_out_set_id] if preparation.held_out_set_id else []
        )
    if measurement is None:
        raise Conflict("not-measured", f"{submission.id} has no measurement on this track.")
    train, *held_out = (SetAddress(each.sha256, each.blob_key, preparation.image_size) for each in (training, *fresh))
    progress = courteous(bench, heartbeat)
    grounds = grounds_in(bench, train, held_out[0] if held_out else None, preparation, progress)
    statistics = load_prepared(bench, preparation.key, signed=preparation.signed).statistics
    entry = _entry(bench, submission, measurement, train, preparation, progress)
    seed = seed_of(stored_zip(submission).sha256, preparation.key)
    names = [f"{train.sha256[:8]}/{name}" for name in names_of(bench, train)]
    found = evidence_of(
        entry, grounds, statistics, names, seed=seed, progress=lambda share: progress("evidence", share)
    )
    examined = _examined(bench, found, preparation, measurement, seed)
    _record(bench, claim, submission, examined)


def seed_of(zip_sha256: str, reference: str) -> int:
    """The seed of all that is drawn: the same for the same zip before the same reference, in [0, 2^32)."""
    return int(hashlib.sha256(f"{VERSION}|{zip_sha256}|{reference}".encode()).hexdigest()[:8], 16)


def grounds_in(
    bench: Bench, train: SetAddress, held_out: SetAddress | None, preparation: Preparation, progress: Progress
) -> Grounds:
    """What belongs to the references, from the blob store, or made now and kept there."""
    identity = preparation.extractor
    network = fingerprint(identity, options_of(bench.settings))[:16]
    beside = held_out.sha256[:16] if held_out else "alone"
    folder = f"{train.folder}/evidence-{network}-{VERSION}/{beside}"
    return grounds_of(
        features_of(bench, train, identity, progress),
        mirrored_features_of(bench, train, identity, progress),
        features_of(bench, held_out, identity, progress) if held_out else None,
        small=small_of(
            lambda: images_of(bench, train, progress),
            (lambda: images_of(bench, held_out, progress)) if held_out else None,
            keep=_kept_in(bench, folder),
        ),
        signed=preparation.signed,
        keep=_kept_in(bench, folder),
        progress=lambda share: progress("grounds", share),
    )


def _kept_in(bench: Bench, folder: str) -> Keep:
    """Arrays by name in a folder of the blob store. Made twice at once, they are the same."""

    def keep(name: str, make: Callable[[], Arrays]) -> Arrays:
        key = f"{folder}/{name}.npz"
        if not bench.blobs.exists(key):
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **make())
            bench.blobs.write(key, buffer.getvalue())
        with np.load(io.BytesIO(bench.blobs.read(key)), allow_pickle=False) as arrays:
            return dict(arrays)

    return keep


def _entry(
    bench: Bench,
    submission: Submission,
    measurement: Measurement,
    train: SetAddress,
    preparation: Preparation,
    progress: Progress,
) -> Entry:
    kept = kept_features.find(bench, submission, measurement.track_id, preparation.extractor, progress)
    extractor = bench.extractor(preparation.extractor)
    require_same_network(extractor.provenance, preparation)
    with bench.blobs.open(stored_zip(submission).key) as file:
        names = list_images(file, pixels.spec_of(submission)).names
    return Entry(
        names=names,
        features=kept.features,
        hashes=kept.hashes,
        mirrored_hashes=kept.mirrored_hashes,
        thumbnails=kept.thumbnails,
        copies=find_training_image_copies(kept.hashes, *pixel_hashes_of(bench, train)),
        logits=extractor.logits(kept.features),
        fid=measurement.fid,
        distance=measurement.memorization_distance,
        distance_se=measurement.distance_se,
    )


def _examined(
    bench: Bench, found: Found, preparation: Preparation, measurement: Measurement, seed: int
) -> records.NewEvidence:
    provenance: dict[str, Any] = {
        "version": VERSION,
        "reference": preparation.key,
        "seconds": found.seconds,
        "worker": bench.name,
    }
    return records.NewEvidence(
        preparation_id=preparation.id,
        measurement_id=measurement.id,
        seed=seed,
        findings=found.findings,
        details=found.details,
        numbers=found.numbers,
        provenance=environment() | provenance,
    )


def _record(bench: Bench, claim: leases.Claim, submission: Submission, examined: records.NewEvidence) -> None:
    """Keep the evidence if the job is still ours, and nothing that nobody needs any more."""
    with transaction(bench.sessions, bench.broker) as session:
        if not records.record_evidence(session, claim, examined, now=bench.now()):
            raise LeaseLost(f"job {claim.job_id}")
        last = leases.is_finished(session, claim)
    kept_features.drop(bench, submission, claim.track_id)
    if last:
        pixels.path_of(bench.scratch, submission.id).unlink(missing_ok=True)
