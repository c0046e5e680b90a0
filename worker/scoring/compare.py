"""The ``compare`` job: measures a labelled entry with an extractor that is a candidate for the private track."""

from scorer.db.tables import Preparation, Submission
from scorer.jobs.broker import transaction
from scorer.jobs.leases import Claim
from scorer.metrics.memorization import nearest
from scorer.tuning import extractor_comparison
from worker.runtime import decoded_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.preemption import preemptible
from worker.runtime.recording import record_result
from worker.scoring.measure import environment
from worker.scoring.reference_features import load_prepared, require_same_weights


def measure_candidate(context: WorkerContext, claim: Claim, heartbeat: Heartbeat) -> None:
    """Measure the memorization distance of an entry in a candidate's feature space and record it."""
    with transaction(context.sessions, context.broker) as session:
        submission = session.get_one(Submission, claim.submission_ref)
        preparation = session.get_one(Preparation, claim.preparation_id)
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
    record_result(
        context,
        heartbeat,
        lambda session: extractor_comparison.record_distance(
            session, claim, distances.mean, distances.standard_error, provenance, now=context.now()
        ),
    )
    decoded_images.remove_unneeded(context, claim, submission)
