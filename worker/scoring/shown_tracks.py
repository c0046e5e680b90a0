"""Measurement on a shown track, which does not affect the ranking: a ``rescore`` job without a campaign."""

import math

from scorer.competitions import shown_tracks
from scorer.db.tables import ShownTrack, Submission
from scorer.errors import Unavailable
from scorer.jobs import leases
from scorer.metrics.metric_catalogue import Reference, find_metric
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.preemption import preemptible
from worker.runtime.recording import record_result
from worker.scoring.measure import SCORER_VERSION, environment
from worker.scoring.reference_features import load_prepared, require_same_weights


def measure_shown(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Measure a submission on a shown track and record it. Raises ``Preempted`` when a public score waits,
    ``Unavailable`` (``not-prepared``) while the references are being prepared again.
    """
    with context.transaction() as session:
        submission = session.get_one(Submission, claim.job.submission_ref)
        shown = session.get_one(ShownTrack, claim.job.shown_track_id)
        preparation = shown.preparation
    if preparation is None or preparation.finished_at is None:
        raise Unavailable("not-prepared", f"The references of the shown track {shown.name} are not prepared.")
    progress = preemptible(context, heartbeat)
    progress("decoding", 0.0)
    images = decoded_images.submission_images(context, submission, lambda share: progress("decoding", share))
    extractor = context.extractor(preparation.extractor)
    require_same_weights(extractor.provenance, preparation)
    prepared = load_prepared(context, preparation.key, signed=preparation.signed)
    reference = Reference(prepared.normalised, prepared.statistics, prepared.signed)
    features = extractor.features(images, progress=lambda share: progress("features", share))
    metric = find_metric(shown.metric)
    estimate = metric.compute(features, reference, shown.constants, lambda share: progress("metric", share))
    provenance = {
        "zip_sha256": submission.sha256,
        "reference": preparation.key,
        "reference_images": preparation.count,
        "metric": shown.metric,
        "constants": shown.constants,
        "worker": context.name,
    }
    measured = shown_tracks.NewShownMeasurement(
        scorer_version=SCORER_VERSION,
        value=_finite(estimate.value),
        standard_error=_finite(estimate.standard_error),
        provenance=extractor.provenance | environment() | provenance,
    )
    record_result(heartbeat, shown_tracks.record, measured)


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)
