"""Job dispatch: claims the next job of a queue, calls the function for it, and settles how the job ended."""

import logging
import secrets
import traceback

from scorer.errors import Invalid, KennelError
from scorer.jobs import leases
from scorer.jobs.broker import transaction
from scorer.lifecycle import Queue
from worker.evidence.evidence_job import make_evidence
from worker.evidence.generator_audit import run_generator_audit
from worker.exports.data_release import make_release
from worker.exports.rating_images import make_rating_images
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat, LeaseLost
from worker.runtime.preemption import Preempted
from worker.scoring.check import check_submission
from worker.scoring.compare import measure_candidate
from worker.scoring.prepare import prepare_references
from worker.scoring.score import score_submission

log = logging.getLogger(__name__)


def run_next(context: WorkerContext, queue: Queue) -> bool:
    """Run the fairest due job of a queue, or of a queue that goes before it. False if there was none."""
    claim = next(filter(None, (_claim(context, each) for each in (*PRECEDING_QUEUES.get(queue, ()), queue))), None)
    if claim is None:
        return False
    log.info("job %s (%s, attempt %s) starts", claim.job_id, claim.queue, claim.attempt)
    try:
        with Heartbeat(context, claim) as heartbeat:
            JOB_FUNCTIONS[claim.queue](context, claim, heartbeat)
    except Preempted:
        log.info("job %s makes room for a public score", claim.job_id)
        with transaction(context.sessions, context.broker) as session:
            leases.release(session, claim)
    except LeaseLost:
        log.warning("job %s was taken over by another worker; its result is dropped", claim.job_id)
    except Exception as error:
        log.exception("job %s failed", claim.job_id)
        _retry_or_fail(context, claim, error)
    else:
        log.info("job %s is done", claim.job_id)
    return True


def _claim(context: WorkerContext, queue: Queue) -> leases.Claim | None:
    with transaction(context.sessions, context.broker) as session:
        return leases.claim_job(
            session, queue, holder=secrets.token_hex(8), worker=context.name, now=context.now(), lease=context.lease
        )


def _retry_or_fail(context: WorkerContext, claim: leases.Claim, error: Exception) -> None:
    with transaction(context.sessions, context.broker) as session:
        if isinstance(error, Invalid):  # the same input is as wrong next time
            leases.fail(session, claim, error=_error_text(error), reason=error.message, now=context.now())
        else:
            attempts = context.settings.max_attempts
            leases.retry_or_fail(session, claim, error=_error_text(error), now=context.now(), max_attempts=attempts)


def _error_text(error: Exception) -> str:
    """The error text of a failed job, for operators and organizers."""
    if isinstance(error, KennelError):
        return "\n".join([error.message, *error.faults[:10]])
    return "".join(traceback.format_exception_only(error)).strip()


JOB_FUNCTIONS = {
    Queue.CHECK: check_submission,
    Queue.SCORE: score_submission,
    Queue.PREPARE: prepare_references,
    Queue.COMPARE: measure_candidate,
    Queue.RELEASE: make_release,
    Queue.RATINGS: make_rating_images,
    Queue.EVIDENCE: make_evidence,
    Queue.RECOVER: run_generator_audit,
}
PRECEDING_QUEUES = {
    Queue.COMPARE: (Queue.SCORE,),
    Queue.EVIDENCE: (Queue.SCORE, Queue.PREPARE, Queue.COMPARE),
    Queue.RECOVER: (Queue.SCORE, Queue.PREPARE, Queue.COMPARE),
}
"""By queue: the queues whose jobs go before its own on the same worker."""
