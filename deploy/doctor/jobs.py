"""Checks of jobs: whether workers take every queue, whether sweeps run, and what has waited for too long."""

from datetime import datetime, timedelta

import migrations
from deploy.doctor.installation import Check, Fault, Installation, Skipped
from scorer.db.diagnostics import Unsent, unsent_deliveries, unsent_mails
from scorer.db.jobs import failed_jobs, pauses, sweeps
from scorer.db.notifications import mail_faults
from scorer.lifecycle import SWEEP_QUEUE, UPLOADS_QUEUE, Queue
from scorer.product_version import product_version

MISSED_SWEEPS = 8
"""Sweeps that may be missing before beat counts as dead: a worker that cleans up holds some back."""
STALLED = timedelta(minutes=10)
"""How long a job may be due while nothing of its queue runs."""
LATE = timedelta(hours=1)
"""How long a mail or a webhook's call may be due."""
RECENT = timedelta(days=1)
FORGOTTEN = timedelta(days=1)
"""The age from which a pause counts as forgotten."""
ALWAYS_SERVED = (SWEEP_QUEUE, UPLOADS_QUEUE, Queue.CHECK)
"""Queues that have a worker also where others start with what waits."""


def _workers(installation: Installation) -> str:
    needed = ALWAYS_SERVED if installation.settings.workers_from_zero else (SWEEP_QUEUE, UPLOADS_QUEUE, *Queue)
    served = {queue for report in installation.workers for queue in report.queues}
    lonely = [queue for queue in needed if queue not in served]
    if lonely:
        raise Fault(f"No running worker takes the queues {', '.join(lonely)}.")
    which = ", ".join(needed) if needed is ALWAYS_SERVED else "every queue"
    return f"{len(installation.workers)} run and take {which}"


def _versions(installation: Installation) -> str:
    own = product_version(), migrations.newest_revision()
    others = [
        f"{report.worker} ({report.version}, {report.migration})"
        for report in installation.workers
        if (report.version, report.migration) != own
    ]
    if others:
        raise Fault(f"This is version {own[0]} with migration {own[1]}, other than {', '.join(others)}.")
    if not installation.workers:
        raise Skipped("no worker runs")
    return f"all workers are of this version, {own[0]}"


def _sweep(installation: Installation) -> str:
    with installation.sessions() as session:
        age = sweeps.time_since_sweep(session)
    if age is None:
        raise Fault("No sweep has ever begun: leases of lost workers do not expire.")
    if age > timedelta(seconds=MISSED_SWEEPS * installation.settings.sweep_seconds):
        raise Fault(f"The last sweep began {age.total_seconds():,.0f} s ago: what a lost worker held stays with it.")
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
        raise Fault(f"Jobs have been due for more than {STALLED.seconds // 60} min, and none runs: {', '.join(late)}.")
    return f"{sum(load.waiting for load in loads)} jobs wait and {sum(load.running for load in loads)} run"


def _failures(installation: Installation) -> str:
    with installation.sessions() as session:
        failed = failed_jobs.failed(session)
    if failed:
        last = failed[0]
        raise Fault(f"{len(failed)} jobs have failed for good, the last on {last.queue}: {last.error}")
    return "none is left that has failed"


def _pauses(installation: Installation) -> str:
    with installation.sessions() as session:
        held, now = pauses.list_pauses(session), failed_jobs.database_time(session)
    old = [pause for pause in held if now - pause.created_at > FORGOTTEN]
    if old:
        names = [pause.queue or pause.competition or pause.worker or "" for pause in old]
        raise Fault(f"Paused for more than a day: {', '.join(names)}.")
    return f"{len(held)} hold" if held else "nothing is paused"


def _mails(installation: Installation) -> str:
    with installation.sessions() as session:
        now = failed_jobs.database_time(session)
        unsent = unsent_mails(session, now - RECENT)
        lost = [fault for fault in mail_faults(session, now - RECENT) if fault.lost]
    if unsent.waiting and installation.settings.smtp_url is None:
        raise Skipped(f"{unsent.waiting} stay in the outbox: KENNEL_SMTP_URL names no server")
    if lost:
        raise Fault(f"{unsent.failed} mails were not sent within a day, the newest because: {lost[0].error}")
    return _require_sent("mails", unsent, now)


def _webhooks(installation: Installation) -> str:
    with installation.sessions() as session:
        now = failed_jobs.database_time(session)
        unsent = unsent_deliveries(session)
    return _require_sent("calls of webhooks", unsent, now)


def _require_sent(what: str, unsent: Unsent, now: datetime) -> str:
    if unsent.oldest_due_at is not None and now - unsent.oldest_due_at > LATE:
        raise Fault(f"{unsent.waiting} {what} wait, the oldest for more than an hour.")
    if unsent.failed:
        raise Fault(f"{unsent.failed} {what} have failed within a day.")
    return f"{unsent.waiting} wait"


CHECKS = (
    Check(
        "workers", _workers, "Start a worker for these queues (`celery -A worker.app worker -Q ...`).", ["migrations"]
    ),
    Check("versions", _versions, "Restart web and workers from the same version.", ["migrations"]),
    Check("sweeps", _sweep, f"Start beat, and a worker for the queue `{SWEEP_QUEUE}`.", ["migrations"]),
    Check(
        "queues",
        _queues,
        "`kennel admin job show` and the log of that queue's worker say why it takes none.",
        ["migrations"],
    ),
    Check("failed jobs", _failures, "Mend the cause, then `kennel admin job requeue`.", ["migrations"]),
    Check("pauses", _pauses, "`kennel admin queue resume`, `competition resume` or `worker resume`.", ["migrations"]),
    Check(
        "mails",
        _mails,
        "See to the mail server (below); the sweep's worker sends them and logs why not.",
        ["migrations"],
    ),
    Check("webhooks", _webhooks, f"Start beat, and a worker for `{SWEEP_QUEUE}` with a way out.", ["migrations"]),
)
