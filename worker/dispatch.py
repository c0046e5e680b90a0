"""Job dispatch: claim the next job of a queue, call its function, and record how it ended."""

import logging
import secrets
import traceback
from functools import partial

from scorer.db.session import UNAVAILABLE, is_unavailable, unavailability
from scorer.errors import Invalid, KennelError, StoreUnavailable, Unavailable
from scorer.extractors import DeviceLost
from scorer.jobs import leases, retries
from scorer.lifecycle import Queue
from scorer.monitoring.instruments import JOB_FAILURES, JOBS
from scorer.monitoring.logs import log_context
from scorer.monitoring.traces import annotate_span, current_span, job_span
from scorer.submissions.files import ZipRemoved
from worker.evidence.evidence_job import make_evidence
from worker.evidence.generator_audit import run_generator_audit
from worker.exports.rating_images import make_rating_images
from worker.runtime import decoded_images, health
from worker.runtime.context import WorkerContext
from worker.runtime.heartbeat import Heartbeat, LeaseLost, WorkerStopping, stopping
from worker.runtime.preemption import Preempted
from worker.runtime.recording import retry_transaction
from worker.runtime.self_test import self_test
from worker.scoring.check import check_submission
from worker.scoring.generators import draw_images
from worker.scoring.reference_features import prepare_references
from worker.scoring.score import measure_candidate, rescore_submission, score_submission
from worker.scoring.shown_tracks import measure_shown

log = logging.getLogger(__name__)


def run_next(context: WorkerContext, queue: Queue) -> bool:
    """Run the next due job, in fair order, of a queue or of one of this worker's queues with a higher priority. Returns
    False if there was none. Raises ``SystemExit`` if the process has lost its GPU.
    """
    with health.end_on_device_loss():
        return _run_next(context, queue)


def _run_next(context: WorkerContext, queue: Queue) -> bool:
    if stopping.value or not context.health.may_claim(partial(self_test, context)):
        return False
    preceding = [other for other in PRECEDING_QUEUES.get(queue, ()) if other in context.queues]
    claim = next(filter(None, (_claim(context, other) for other in (*preceding, queue))), None)
    if claim is None:
        return False
    with (
        log_context(job_id=claim.job.id, queue=claim.queue.value, submission_id=claim.submission_id),
        job_span(
            claim.queue.value,
            queued_at=claim.job.created_at,
            submission_id=claim.submission_id,
            job_id=claim.job.id,
            attempt=claim.job.attempts,
            worker=context.name,
        ),
    ):
        _run_claimed(context, claim)
    return True


def _run_claimed(context: WorkerContext, claim: leases.Claim) -> None:
    log.info("job %s starts, attempt %s", claim.job.id, claim.job.attempts)
    outcome = "released"
    try:
        with Heartbeat(context, claim) as heartbeat:  # it also renews the lease while the end of the job is recorded
            try:
                outcome = _run(context, claim, heartbeat)
            except DeviceLost as error:  # during the job, or during the self-test after the job has failed
                _give_back(context, claim, error)
                raise
    finally:
        JOBS.labels(claim.queue.value, outcome).inc()
        annotate_span(current_span(), outcome=outcome)


def _run(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> str:
    """Run a claimed job; returns how it ended, for the metrics."""
    try:
        JOB_FUNCTIONS[claim.queue](context, claim, heartbeat)
        decoded_images.remove_unneeded(context, claim)
    except (Preempted, WorkerStopping) as reason:
        log.info("job %s is requeued: %s", claim.job.id, type(reason).__name__)
        retry_transaction(context, lambda session: retries.release(session, claim, now=context.now()))
        return "released"
    except LeaseLost:
        log.warning("job %s was taken over by another worker; its result is dropped", claim.job.id)
        return "lost"
    except DeviceLost:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the end of this attempt
        _record_failure(claim, error)
        _settle_failure(context, claim, error)
        return "failed"
    context.health.record_success()
    health.device_losses.value = 0
    log.info("job %s is done", claim.job.id)
    return "done"


def _record_failure(claim: leases.Claim, error: Exception) -> None:
    """Log and count a failed attempt: expected errors in one line, others with their traceback."""
    reason = error.slug if isinstance(error, KennelError) else type(error).__name__
    JOB_FAILURES.labels(claim.queue.value, reason).inc()
    if is_unavailable(error):
        log.warning("job %s failed: %s", claim.job.id, unavailability(error))
    elif isinstance(error, KennelError):
        log.warning("job %s failed: %s", claim.job.id, error)
    else:
        log.error("job %s failed", claim.job.id, exc_info=error)


def _claim(context: WorkerContext, queue: Queue) -> leases.Claim | None:
    with context.transaction() as session:
        return leases.claim_job(
            session, queue, holder=secrets.token_hex(8), worker=context.name, now=context.now(), lease=context.lease
        )


def _give_back(context: WorkerContext, claim: leases.Claim, error: DeviceLost) -> None:
    """Requeue the job during which the GPU was lost; that never counts as a failure of the job."""
    log.error("job %s is requeued: the GPU is lost", claim.job.id, exc_info=error)
    _defer(context, claim, error)


def _defer(context: WorkerContext, claim: leases.Claim, error: Exception) -> None:
    retry_transaction(
        context,
        lambda session: retries.defer(
            session, claim, error=_error_text(error), now=context.now(), factor=context.settings.retry_factor
        ),
    )


def _settle_failure(context: WorkerContext, claim: leases.Claim, error: Exception) -> None:
    text = _error_text(error)
    if isinstance(error, (Invalid, ZipRemoved)):  # a retry would find the same fault in the input
        reason = error.message
        retry_transaction(
            context, lambda session: retries.fail(session, claim, error=text, reason=reason, now=context.now())
        )
        return
    if isinstance(error, StoreUnavailable) and self_test(context) is not None:
        _defer(context, claim, error)  # the store itself fails: all jobs wait, however long it takes
        return
    lacks_something = isinstance(error, (Unavailable, *UNAVAILABLE))
    if not lacks_something:
        context.health.record_failure(claim.job.id, partial(self_test, context))
    settle = retries.defer_or_fail if lacks_something or context.health.is_suspect else retries.retry_or_fail
    retry_transaction(
        context,
        lambda session: settle(
            session,
            claim,
            error=text,
            now=context.now(),
            max_attempts=context.settings.max_attempts,
            factor=context.settings.retry_factor,
        ),
    )


def _error_text(error: Exception) -> str:
    """The error text of a failed job, for operators and organizers."""
    if isinstance(error, KennelError):
        return "\n".join([str(error), *error.faults[:10]])
    return "".join(traceback.format_exception_only(error)).strip()


def _make_release(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    # pyarrow is only in the image of the workers that make releases; the checking worker and beat start without it.
    from worker.exports.data_release import make_release  # noqa: PLC0415

    make_release(context, claim, heartbeat)


def _measure_again(context: WorkerContext, claim: leases.Claim, heartbeat: Heartbeat) -> None:
    """Measure an entry for a rescoring campaign, or on a shown track."""
    measure = rescore_submission if claim.job.shown_track_id is None else measure_shown
    measure(context, claim, heartbeat)


JOB_FUNCTIONS = {
    Queue.CHECK: check_submission,
    Queue.DRAW: draw_images,
    Queue.SCORE: score_submission,
    Queue.PREPARE: prepare_references,
    Queue.COMPARE: measure_candidate,
    Queue.RELEASE: _make_release,
    Queue.RATINGS: make_rating_images,
    Queue.EVIDENCE: make_evidence,
    Queue.RECOVER: run_generator_audit,
    Queue.RESCORE: _measure_again,
}
PRECEDING_QUEUES = {
    Queue.COMPARE: (Queue.SCORE, Queue.DRAW),
    **dict.fromkeys(
        (Queue.RELEASE, Queue.RATINGS, Queue.EVIDENCE, Queue.RECOVER),
        (Queue.SCORE, Queue.DRAW, Queue.PREPARE, Queue.COMPARE),
    ),
    Queue.RESCORE: tuple(queue for queue in Queue if queue is not Queue.RESCORE),
}
"""For each queue, the queues with a higher priority on a worker that takes from both."""
