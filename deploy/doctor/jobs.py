"""Checks of jobs: whether workers take every queue, sweeps run, and nothing waits too long."""

from datetime import datetime, timedelta

import migrations
from deploy.doctor.installation import Check, Fault, Installation, Skipped
from scorer.db.diagnostics import Unsent, unsent_deliveries, unsent_mails
from scorer.db.jobs import failed_jobs, pauses, sweeps
from scorer.db.notifications import mail_faults
from scorer.findings.formatting import counted
from scorer.lifecycle import SWEEP_QUEUE, UPLOADS_QUEUE, Queue
from scorer.product_version import product_version

MISSED_SWEEPS = 8
"""How many sweeps may be missing before beat counts as dead: a worker delays some while it cleans up."""
STALLED = timedelta(minutes=10)
"""How long a job may be due while no job of its queue runs."""
LATE = timedelta(hours=1)
"""How long a mail or a webhook call may be due."""
RECENT = timedelta(days=1)
FORGOTTEN = timedelta(days=1)
"""The age at which a pause counts as forgotten."""
ALWAYS_SERVED = (SWEEP_QUEUE, UPLOADS_QUEUE, Queue.CHECK)
"""Queues that always have a worker, even if other workers start on demand."""


def _workers(installation: Installation) -> str:
    needed = ALWAYS_SERVED if installation.settings.workers_from_zero else (SWEEP_QUEUE, UPLOADS_QUEUE, *Queue)
    served = {queue for report in installation.workers for queue in report.queues}
    lonely = [queue for queue in needed if queue not in served]
    if lonely:
        raise Fault(f"No running worker takes jobs from the queues {', '.join(lonely)}.")
    which = ", ".join(needed) if needed is ALWAYS_SERVED else "every queue"
    return f"{len(installation.workers)} are running, and together they serve {which}"


def _versions(installation: Installation) -> str:
    own = product_version(), migrations.newest_revision()
    others = [
        f"{report.worker} ({report.version}, {report.migration})"
        for report in installation.workers
        if (report.version, report.migration) != own
    ]
    if others:
        raise Fault(f"This is version {own[0]} with migration {own[1]}; other workers differ: {', '.join(others)}.")
    if not installation.workers:
        raise Skipped("no worker is running")
    return f"all workers run this version, {own[0]}"


def _sweep(installation: Installation) -> str:
    with installation.sessions() as session:
        age = sweeps.time_since_sweep(session)
    if age is None:
        raise Fault("No sweep has ever run, so leases of lost workers do not expire.")
    if age > timedelta(seconds=MISSED_SWEEPS * installation.settings.sweep_seconds):
        raise Fault(f"The last sweep began {age.total_seconds():,.0f} s ago, so jobs of lost workers are not requeued.")
    return f"the last one began {age.total_seconds():.0f} s ago"


def _queues(installation: Installation) -> str:
    with installation.sessions() as session:
        loads, now = failed_jobs.queues(session), failed_jobs.database_time(session)
        paused = pauses.active_pauses(session)
    late = [
        load.queue
        for load in loads
        if load.oldest_due_at is not None
        and now - load.oldest_due_at > STALLED
        and not load.running
        and load.queue not in paused.queues
    ]
    if late:
        raise Fault(
            f"Jobs have been due for more than {STALLED.seconds // 60} min, and none is running: {', '.join(late)}."
        )
    return f"waiting: {sum(load.waiting for load in loads)}, running: {sum(load.running for load in loads)}"


def _failures(installation: Installation) -> str:
    with installation.sessions() as session:
        failed = failed_jobs.failed(session)
    if failed:
        last = failed[0]
        raise Fault(f"{counted(len(failed), 'job')} failed permanently, the last on {last.queue}: {last.error}")
    return "there are no failed jobs"


def _pauses(installation: Installation) -> str:
    with installation.sessions() as session:
        held, now = pauses.list_pauses(session), failed_jobs.database_time(session)
    old = [pause for pause in held if now - pause.created_at > FORGOTTEN]
    if old:
        names = [pause.queue or pause.competition or pause.worker or "" for pause in old]
        raise Fault(f"Paused for more than a day: {', '.join(names)}.")
    return counted(len(held), "pause") if held else "nothing is paused"


def _mails(installation: Installation) -> str:
    with installation.sessions() as session:
        now = failed_jobs.database_time(session)
        unsent = unsent_mails(session, now - RECENT)
        lost = [fault for fault in mail_faults(session, now - RECENT) if fault.lost]
    if unsent.waiting and installation.settings.smtp_url is None:
        raise Skipped(f"KENNEL_SMTP_URL is not set. Mails in the outbox: {unsent.waiting}")
    if lost:
        raise Fault(
            f"{counted(unsent.failed, 'mail')} could not be sent within a day; the newest error: {lost[0].error}"
        )
    return _require_sent("mails", unsent, now)


def _webhooks(installation: Installation) -> str:
    with installation.sessions() as session:
        now = failed_jobs.database_time(session)
        unsent = unsent_deliveries(session)
    return _require_sent("webhook calls", unsent, now)


def _require_sent(what: str, unsent: Unsent, now: datetime) -> str:
    if unsent.oldest_due_at is not None and now - unsent.oldest_due_at > LATE:
        raise Fault(f"{unsent.waiting} {what} wait, the oldest for more than an hour.")
    if unsent.failed:
        raise Fault(f"{unsent.failed} {what} have failed within a day.")
    return f"{unsent.waiting} are waiting"


CHECKS = (
    Check(
        "workers", _workers, "Start a worker for these queues (`celery -A worker.app worker -Q ...`).", ["migrations"]
    ),
    Check("versions", _versions, "Restart web and workers from the same version.", ["migrations"]),
    Check("sweeps", _sweep, f"Start beat, and a worker for the queue `{SWEEP_QUEUE}`.", ["migrations"]),
    Check(
        "queues",
        _queues,
        "See `kennel admin job show` and the log of that queue's worker.",
        ["migrations"],
    ),
    Check("failed jobs", _failures, "Fix the cause, then run `kennel admin job requeue`.", ["migrations"]),
    Check(
        "pauses", _pauses, "Run `kennel admin queue resume`, `competition resume` or `worker resume`.", ["migrations"]
    ),
    Check(
        "mails",
        _mails,
        "Check the mail server (below); the sweep's worker sends mails and logs errors.",
        ["migrations"],
    ),
    Check(
        "webhooks",
        _webhooks,
        f"Start beat, and a worker for `{SWEEP_QUEUE}` with access to other networks.",
        ["migrations"],
    ),
)
