"""Tasks: thin. A message is a hint that there is work; which work it is, the rows say."""

from functools import cache

from scorer.jobs.broker import LOST, MAIL, POST, SWEEP, UPLOADS, WORK
from scorer.lifecycle import Queue
from worker.app import app, settings
from worker.delivery.mail import send_due_mails
from worker.delivery.webhook_delivery import post_due_deliveries
from worker.dispatch import run_next
from worker.maintenance.cleanup import clean_up_uploads, remove_expired_rows, remove_orphaned_blobs
from worker.maintenance.sweeper import sweep_once
from worker.runtime.context import WorkerContext


@cache
def worker_context() -> WorkerContext:
    """This process's connections and models, made on first use: never before the fork."""
    return WorkerContext.open(settings, app)


@app.task(name=WORK)
def work(queue: str) -> None:
    """Do the fairest due piece of work of a queue."""
    run_next(worker_context(), Queue(queue))


@app.task(name=SWEEP)
def sweep() -> None:
    """Free what is stuck and announce what has no message."""
    sweep_once(worker_context())


@app.task(name=MAIL)
def mail() -> None:
    """Send what lies in the outbox."""
    send_due_mails(worker_context())


@app.task(name=POST)
def post() -> None:
    """Send webhooks what they are due."""
    post_due_deliveries(worker_context())


@app.task(name=UPLOADS)
def uploads() -> None:
    """End, finish and clear away uploads that nobody works on."""
    clean_up_uploads(worker_context())


@app.task(name=LOST)
def lost() -> None:
    """Remove bytes that belong to nothing, and rows of what is long over."""
    remove_orphaned_blobs(worker_context())
    remove_expired_rows(worker_context())
