"""The Celery tasks. A message only announces a possible job; the rows in the database are authoritative."""

from functools import cache

from scorer.db.session import require_right_clock
from scorer.jobs.broker import LOST, MAIL, POST, RUN_JOB, SWEEP, UPLOADS
from scorer.lifecycle import Queue
from worker.app import app, settings
from worker.delivery.mail import send_due_mails
from worker.delivery.webhook_delivery import post_due_deliveries
from worker.dispatch import run_next
from worker.maintenance.cleanup import (
    clean_up_uploads,
    remove_expired_rows,
    remove_old_zips,
    remove_orphaned_blobs,
    remove_refused_zips,
)
from worker.maintenance.sweeper import sweep_once
from worker.runtime.context import WorkerContext
from worker.runtime.recording import one_line_in_outages


@cache
def worker_context() -> WorkerContext:
    """This process's context, created on first use and therefore never before the fork."""
    consumed = app.amqp.queues.consume_from
    return WorkerContext.open(settings, app, [queue for queue in Queue if queue in consumed])


@app.task(name=RUN_JOB)
def run_job(queue: str) -> None:
    """Run the due job of a queue that is next in fair order."""
    with one_line_in_outages():
        run_next(worker_context(), Queue(queue))


@app.task(name=SWEEP)
def sweep() -> None:
    """Free expired leases and send missing messages."""
    with one_line_in_outages():
        sweep_once(worker_context())


@app.task(name=MAIL)
def mail() -> None:
    with one_line_in_outages():
        send_due_mails(worker_context())


@app.task(name=POST)
def post() -> None:
    with one_line_in_outages():
        post_due_deliveries(worker_context())


@app.task(name=UPLOADS)
def uploads() -> None:
    """Expire abandoned uploads, finish complete ones, and remove the remains of both."""
    with one_line_in_outages():
        clean_up_uploads(_clock_checked_context())


@app.task(name=LOST)
def lost() -> None:
    """Remove orphaned blobs, and rows and zips past their retention."""
    with one_line_in_outages():
        context = _clock_checked_context()
        remove_expired_rows(context)
        remove_refused_zips(context)
        remove_old_zips(context)
        remove_orphaned_blobs(context)


def _clock_checked_context() -> WorkerContext:
    """Raises ``Unavailable`` while this process's clock is wrong, because the cleanup could remove too much."""
    context = worker_context()
    require_right_clock(context.sessions, context.now)
    return context
