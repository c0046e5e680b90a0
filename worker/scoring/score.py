"""The ``score`` and ``rescore`` jobs: measure a submission on a track (Fréchet and memorization distance) and record it
once. A ``rescore`` job uses the settings of a campaign and yields to public scores. The ``compare`` job measures a
labelled entry with an extractor that is a candidate for the private track.
"""

import io
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorer.db.tables import Preparation, RescoringCampaign, Submission, Track
from scorer.extractors import Features
from scorer.jobs import leases
from scorer.jobs.leases import Claim
from scorer.metrics.memorization import closest_pairs, nearest
from scorer.progress import StageProgress
from scorer.submissions import outcomes
from scorer.submissions.files import StoredZip
from scorer.tuning import extractor_comparison
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.preemption import preemptible
from worker.runtime.recording import record_result
from worker.scoring import feature_cache
from worker.scoring.measure import SCORER_VERSION, RawMeasurement, combine, environment, measure
from worker.scoring.reference_features import (
    SetAddress,
    load_image_names,
    load_prepared,
    load_set_addresses,
    require_same_weights,
)

MAX_CLOSEST_PAIRS = 20


def score_submission(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    with context.transaction() as session:
        submission = session.get_one(Submission, claim.job.submission_ref)
        track = session.get_one(Track, claim.job.track_id)
        preparation = session.get_one(Preparation, track.preparation_id)
        sets = load_set_addresses(session, preparation.reference_set_ids, preparation.image_size)
    images, measured, features = _measure(
        context, claim, submission, track=track, preparation=preparation, sets=sets, progress=heartbeat
    )
    feature_cache.store_features(
        context, submission, claim.job.track_id, identity=preparation.extractor, images=images, features=features
    )
    heartbeat("evidence", 1.0)
    record_result(heartbeat, outcomes.record_measurement, measured)


def rescore_submission(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """The current score does not change. Raises ``Preempted`` when a public score waits."""
    with context.transaction() as session:
        submission = session.get_one(Submission, claim.job.submission_ref)
        track = session.get_one(Track, claim.job.track_id)
        preparation = session.get_one(RescoringCampaign, claim.job.campaign_id).preparation
        sets = load_set_addresses(session, preparation.reference_set_ids, preparation.image_size)
    progress = preemptible(context, heartbeat)
    _, measured, _ = _measure(
        context, claim, submission, track=track, preparation=preparation, sets=sets, progress=progress
    )
    record_result(heartbeat, outcomes.record_rescored, measured)


def _measure(
    context: WorkerContext,
    claim: leases.Claim,
    submission: Submission,
    *,
    track: Track,
    preparation: Preparation,
    sets: list[SetAddress],
    progress: StageProgress,
) -> tuple[NDArray[Any], outcomes.NewMeasurement, list[Features]]:
    """The images of a submission's zip or first draw, its measurement against a preparation, and the features of each
    draw."""
    zips = decoded_images.load_image_zips(context, submission, track.images_of)

    def decoded(stored: StoredZip) -> NDArray[np.uint8]:
        return decoded_images.submission_images(context, submission, partial(progress, "decoding"), stored=stored)

    # before the extractor, which may have to wait for its turn to be loaded
    progress("decoding", 0.0)
    images = decoded(zips[0])
    extractor = context.extractor(preparation.extractor, public=claim.public)
    require_same_weights(extractor.provenance, preparation)
    reference = load_prepared(context, preparation.key, signed=preparation.signed)
    draws = [measure(decoded(stored), extractor, reference, progress=progress) for stored in zips]
    numbers = combine(draws)
    drawn = submission.competition.entries == "generator"
    progress("evidence", 0.0)
    # Everything needed to repeat the measurement (worker.scoring.rescore), and its duration.
    provenance = {
        "zip_sha256": submission.sha256,
        "draws_sha256": [stored.sha256 for stored in zips] if drawn else None,
        "reference": preparation.key,
        "reference_images": preparation.count,
        "bottleneck": (preparation.provenance or {}).get("bottleneck"),
        "seconds": numbers.seconds,
        "worker": context.name,
    }
    measured = outcomes.NewMeasurement(
        scorer_version=SCORER_VERSION,
        fid=numbers.fid,
        memorization_distance=numbers.nearest.mean,
        distance_se=numbers.nearest.standard_error,
        closest_pairs=_closest_pairs(context, numbers, sets),
        histogram=numbers.histogram(),
        artifact_key=_store_distances(context, submission, claim, numbers=numbers),
        provenance=extractor.provenance | environment() | provenance,
        fid_spread=numbers.fid_spread,
        draws=numbers.draws() if drawn else None,
    )
    return images, measured, [draw.features for draw in draws]


def _closest_pairs(context: WorkerContext, numbers: RawMeasurement, sets: list[SetAddress]) -> list[dict[str, Any]]:
    """The images closest to the reference, each with its nearest reference image."""
    names = [
        f"{address.sha256[:8]}/{name}"
        for address in sets
        if not address.holds_features
        for name in load_image_names(context, address)
    ]
    by_row = sets[0].holds_features  # a file of features has rows instead of image names
    return [
        {
            "image": pair.generated,
            "reference": pair.reference,
            "reference_name": f"{sets[0].sha256[:8]}/row {pair.reference}" if by_row else names[pair.reference],
            "distance": pair.distance,
        }
        for pair in closest_pairs(numbers.nearest, MAX_CLOSEST_PAIRS)
    ]


def _store_distances(
    context: WorkerContext, submission: Submission, claim: leases.Claim, *, numbers: RawMeasurement
) -> str:
    key = f"measurements/{submission.id}/{claim.job.track_id}-{claim.job.id}-{claim.holder}.npz"
    buffer = io.BytesIO()
    np.savez(buffer, distance=numbers.nearest.distance, index=numbers.nearest.index)
    context.blobs.write(key, buffer.getvalue())
    return key


def measure_candidate(context: WorkerContext, claim: Claim, heartbeat: Heartbeat) -> None:
    """Measure the memorization distance of an entry in a candidate's feature space and record it."""
    with context.transaction() as session:
        submission = session.get_one(Submission, claim.job.submission_ref)
        preparation = session.get_one(Preparation, claim.job.preparation_id)
    extractor = context.extractor(preparation.extractor)
    require_same_weights(extractor.provenance, preparation)
    progress = preemptible(context, heartbeat)
    images = decoded_images.submission_images(context, submission, lambda fraction: progress("decoding", fraction))
    reference = load_prepared(context, preparation.key, signed=preparation.signed)
    features = extractor.features(images, progress=lambda fraction: progress("features", fraction))
    distances = nearest(
        features,
        reference.normalised,
        signed=reference.signed,
        shortlister=extractor.shortlister,
        progress=lambda fraction: progress("neighbours", fraction),
    )
    provenance = extractor.provenance | environment() | {"zip_sha256": submission.sha256, "worker": context.name}
    record = partial(
        extractor_comparison.record_distance, standard_error=distances.standard_error, provenance=provenance
    )
    record_result(heartbeat, record, distances.mean)
