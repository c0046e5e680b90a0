"""The provisional public score: the same measurement in bfloat16, made before the one that counts."""

import logging
from typing import Any

from numpy.typing import NDArray

from scorer.errors import KennelError
from scorer.extractors import Precision
from scorer.jobs.broker import transaction
from scorer.jobs.leases import Claim
from scorer.submissions import provisional_scores
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat
from worker.scoring.measure import PreparedReference, measure

log = logging.getLogger(__name__)
PROVISIONAL_PRECISION: Precision = "bfloat16"


def measure_provisionally(
    context: WorkerContext,
    claim: Claim,
    images: NDArray[Any],
    identity: str,
    reference: PreparedReference,
    heartbeat: Heartbeat,
) -> None:
    """Measure and record a provisional score on the public track, if the operator's settings ask for it.

    A failure is only logged, because the measurement itself follows.
    """
    if not (context.settings.provisional and claim.public):
        return
    try:
        extractor = context.extractor(identity, PROVISIONAL_PRECISION, public=claim.public)
        # Only the features take long enough for a progress of their own.
        numbers = measure(
            images,
            extractor,
            reference,
            lambda stage, fraction: heartbeat("provisional", fraction if stage == "features" else 1.0),
        )
    except KennelError as error:
        log.warning("no provisional score of job %s: %s", claim.job_id, error.message)
        return
    with transaction(context.sessions, context.broker) as session:
        provisional_scores.record_provisional(
            session,
            claim,
            fid=numbers.fid,
            memorization_distance=numbers.nearest.mean,
            provenance=extractor.provenance | {"seconds": numbers.seconds},
            now=context.now(),
        )
