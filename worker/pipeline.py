"""The work itself: claim, look at images, measure, record. No transaction is held while anything is computed."""

import hashlib
import io
import logging
import secrets
import traceback
from pathlib import Path
from typing import Any

import numpy as np

from scorer.archive import PixelHashes, find_training_image_copies
from scorer.archive.sprite_sheet import sprite_sheet_of
from scorer.competitions import reference_sets as reference_rows
from scorer.db import competitions
from scorer.db.tables import Preparation, Submission, Track
from scorer.errors import Invalid, KennelError
from scorer.extractors import Extractor
from scorer.jobs import leases
from scorer.jobs.broker import transaction
from scorer.lifecycle import Queue
from scorer.metrics.memorization import closest_pairs
from scorer.submissions import outcomes
from scorer.submissions.files import stored_zip
from scorer.tuning import extractor_comparison
from worker import kept_features, pixels
from worker.bench import Bench
from worker.comparing import compare
from worker.courtesy import Displaced
from worker.examining import examine
from worker.heartbeat import Heartbeat, LeaseLost
from worker.measuring import SCORER_VERSION, Numbers, measure
from worker.packing import pack_study
from worker.provenance import environment
from worker.provisional import measure_provisionally
from worker.recovering import recover
from worker.references import SetAddress, load_prepared, names_of, pixel_hashes_of, prepare, require_same_network
from worker.releasing import make_release

log = logging.getLogger(__name__)
CLOSEST_PAIRS = 20


def run_next(bench: Bench, queue: Queue) -> bool:
    """Do the fairest due job of a queue, or of one that goes first; False when there was none."""
    claim = next(filter(None, (_claim(bench, each) for each in (*FIRST.get(queue, ()), queue))), None)
    if claim is None:
        return False
    log.info("job %s (%s, attempt %s) starts", claim.job_id, claim.queue, claim.attempt)
    try:
        with Heartbeat(bench, claim) as heartbeat:
            STEPS[claim.queue](bench, claim, heartbeat)
    except Displaced:
        log.info("job %s makes room for a public score", claim.job_id)
        with transaction(bench.sessions, bench.broker) as session:
            leases.release(session, claim, now=bench.now())
    except LeaseLost:
        log.warning("job %s was taken over by another worker; its result is dropped", claim.job_id)
    except Exception as error:
        log.exception("job %s failed", claim.job_id)
        _retry_or_fail(bench, claim, error)
    else:
        log.info("job %s is done", claim.job_id)
    return True


def _claim(bench: Bench, queue: Queue) -> leases.Claim | None:
    with transaction(bench.sessions, bench.broker) as session:
        return leases.claim_job(
            session, queue, holder=secrets.token_hex(8), worker=bench.name, now=bench.now(), lease=bench.lease
        )


def _retry_or_fail(bench: Bench, claim: leases.Claim, error: Exception) -> None:
    with transaction(bench.sessions, bench.broker) as session:
        if isinstance(error, Invalid):  # the same input is as wrong next time
            leases.fail(session, claim, error=_said(error), reason=error.message, now=bench.now())
        else:
            most = bench.settings.max_attempts
            leases.retry_or_fail(session, claim, error=_said(error), now=bench.now(), max_attempts=most)


def _said(error: Exception) -> str:
    """What an operator or organizer reads about a failed job."""
    if isinstance(error, KennelError):
        return "\n".join([error.message, *error.faults[:10]])
    return "".join(traceback.format_exception_only(error)).strip()


def check(bench: Bench, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """The deep check: decode every image, compare pixels with the training images, pass or reject."""
    with transaction(bench.sessions, bench.broker) as session:
        submission = session.get_one(Submission, claim.submission_ref)
        training = competitions.references_of(session, submission.competition_id)["train"].reference_set
    spec = pixels.spec_of(submission)
    path = pixels.path_of(bench.scratch, submission.id)
    try:
        hashes = pixels.decode(
            bench.blobs, stored_zip(submission).key, spec, path, lambda fraction: heartbeat("checking", fraction)
        )
    except Invalid as error:
        with transaction(bench.sessions, bench.broker) as session:
            outcomes.reject(session, claim, error, now=bench.now())
        return
    exact, mirrored = pixel_hashes_of(bench, SetAddress(training.sha256, training.blob_key, spec.size))
    found = find_training_image_copies(hashes, exact, mirrored)
    sprite_key = _keep_sprite(bench, submission, path)
    with transaction(bench.sessions, bench.broker) as session:
        outcomes.pass_check(
            session, claim, found, pixels_sha256=_content_of(hashes), sprite_key=sprite_key, now=bench.now()
        )


def _keep_sprite(bench: Bench, submission: Submission, path: Path) -> str:
    """Store a picture of some of the images; the same ones however often the check is tried."""
    key = f"sprites/{submission.id}.png"
    rng = np.random.default_rng(int(stored_zip(submission).sha256, 16))
    bench.blobs.write(key, sprite_sheet_of(np.load(path, mmap_mode="r"), rng))
    return key


def _content_of(hashes: PixelHashes) -> str:
    """The same for the same images under other names or in another order."""
    return hashlib.sha256(b"".join(sorted(row.tobytes() for row in hashes))).hexdigest()


def score(bench: Bench, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Measure a submission on a track and record it."""
    with transaction(bench.sessions, bench.broker) as session:
        submission = session.get_one(Submission, claim.submission_ref)
        track = session.get_one(Track, claim.track_id)
        preparation = session.get_one(Preparation, track.preparation_id)
        sets = competitions.reference_sets(session, preparation.reference_set_ids)
    extractor = bench.extractor(track.extractor)
    require_same_network(extractor.provenance, preparation)
    heartbeat("decoding", 0.0)
    images = pixels.images_for(bench, submission, lambda fraction: heartbeat("decoding", fraction))
    reference = load_prepared(bench, preparation.key, signed=track.signed)
    measure_provisionally(bench, claim, images, track.extractor, reference, heartbeat)
    numbers = measure(images, extractor, reference, heartbeat)
    heartbeat("evidence", 0.0)
    addresses = [SetAddress(each.sha256, each.blob_key, preparation.image_size) for each in sets]
    measured = _measured(
        bench,
        numbers,
        addresses,
        artifact_key=_keep_distances(bench, submission, claim, numbers),
        provenance=_provenance(bench, extractor, submission, preparation, numbers),
    )
    kept_features.keep(bench, submission, claim.track_id, images, numbers.features)
    heartbeat("evidence", 1.0)
    _record(bench, claim, submission, measured)


def _measured(
    bench: Bench, numbers: Numbers, sets: list[SetAddress], *, artifact_key: str, provenance: dict[str, Any]
) -> outcomes.NewMeasurement:
    return outcomes.NewMeasurement(
        scorer_version=SCORER_VERSION,
        fid=numbers.fid,
        memorization_distance=numbers.nearest.mean,
        distance_se=numbers.nearest.standard_error,
        closest_pairs=_closest_pairs(bench, numbers, sets),
        histogram=numbers.histogram(),
        artifact_key=artifact_key,
        provenance=provenance,
    )


def _record(bench: Bench, claim: leases.Claim, submission: Submission, measured: outcomes.NewMeasurement) -> None:
    """Keep the measurement if the job is still ours, and no images that nobody needs any more."""
    with transaction(bench.sessions, bench.broker) as session:
        if not outcomes.record_measurement(session, claim, measured, now=bench.now()):
            raise LeaseLost(f"job {claim.job_id}")
        last = leases.is_finished(session, claim)
    if last:
        pixels.path_of(bench.scratch, submission.id).unlink(missing_ok=True)
    pixels.remove_old(bench.scratch)


def _provenance(
    bench: Bench, extractor: Extractor, submission: Submission, preparation: Preparation, numbers: Numbers
) -> dict[str, Any]:
    """All that it takes to measure again (:mod:`worker.rescoring`), and how long it took."""
    return (
        extractor.provenance
        | environment()
        | {
            "zip_sha256": submission.sha256,
            "reference": preparation.key,
            "reference_images": preparation.count,
            "bottleneck": (preparation.provenance or {}).get("bottleneck"),
            "seconds": numbers.seconds,
            "worker": bench.name,
        }
    )


def _closest_pairs(bench: Bench, numbers: Numbers, sets: list[SetAddress]) -> list[dict[str, Any]]:
    """The images nearest to the reference, each with the reference image that it is near to."""
    names = [f"{address.sha256[:8]}/{name}" for address in sets for name in names_of(bench, address)]
    return [
        {
            "image": pair.generated,
            "reference": pair.reference,
            "reference_name": names[pair.reference],
            "distance": pair.distance,
        }
        for pair in closest_pairs(numbers.nearest, CLOSEST_PAIRS)
    ]


def _keep_distances(bench: Bench, submission: Submission, claim: leases.Claim, numbers: Numbers) -> str:
    key = f"measurements/{submission.id}/{claim.track_id}-{claim.job_id}.npz"
    buffer = io.BytesIO()
    np.savez(buffer, distance=numbers.nearest.distance, index=numbers.nearest.index)
    bench.blobs.write(key, buffer.getvalue())
    return key


def prepare_references(bench: Bench, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Prepare a track's references, and set its first threshold."""
    with transaction(bench.sessions, bench.broker) as session:
        preparation = session.get_one(Preparation, claim.preparation_id)
        rows = competitions.reference_sets(session, preparation.reference_set_ids)
        fresh = (
            []
            if preparation.held_out_set_id is None
            else competitions.reference_sets(session, [preparation.held_out_set_id])
        )
    sets, held_out = (
        [SetAddress(each.sha256, each.blob_key, preparation.image_size) for each in group] for group in (rows, fresh)
    )
    prepared = prepare(
        bench,
        preparation.key,
        preparation.extractor,
        sets,
        held_out[0] if held_out else None,
        signed=preparation.signed,
        progress=heartbeat,
    )
    with transaction(bench.sessions, bench.broker) as session:
        if reference_rows.record_preparation(session, claim, **vars(prepared), now=bench.now()):
            extractor_comparison.continue_comparisons(session, preparation.id, now=bench.now())


STEPS = {
    Queue.CHECK: check,
    Queue.SCORE: score,
    Queue.PREPARE: prepare_references,
    Queue.COMPARE: compare,
    Queue.RELEASE: make_release,
    Queue.RATINGS: pack_study,
    Queue.EVIDENCE: examine,
    Queue.RECOVER: recover,
}
FIRST = {
    Queue.COMPARE: (Queue.SCORE,),
    Queue.EVIDENCE: (Queue.SCORE, Queue.PREPARE, Queue.COMPARE),
    Queue.RECOVER: (Queue.SCORE, Queue.PREPARE, Queue.COMPARE),
}
"""Which queues' work goes before a queue's own, on the same worker."""
