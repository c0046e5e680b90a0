"""``kennel admin job``, ``queue`` and ``worker``: jobs by state; pause queues, drain workers."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from kennel_client.cli.formatting import format_time
from kennel_client.cli.output import AdminClient, Answer, Listing, Reason, View, answers, columns

app, queues, workers = typer.Typer(), typer.Typer(), typer.Typer()
Queue = Annotated[str, typer.Argument(help="The queue's name, as shown by `kennel admin job show`.")]
Worker = Annotated[str, typer.Argument(help="A machine, one process as `machine:pid`, or `*` for all workers.")]


@answers(app, "show")
def show_jobs(admin: AdminClient) -> Answer:
    """Show waiting, running and failed jobs, with the reasons for failures."""
    unfinished = admin.jobs.unfinished()
    text = "\n".join(_lines(unfinished)) or "No jobs are waiting, running or failed."
    return Answer(unfinished, text)


def _lines(unfinished: View) -> Iterator[str]:
    for queue in unfinished["queues"]:
        since = f", the oldest since {format_time(queue['oldest_due_at'])}" if queue["oldest_due_at"] else ""
        yield f"{queue['queue']}: {queue['waiting']} waiting{since}; {queue['running']} running"
    for state in ("running", "failed"):
        for job in unfinished[state]:
            yield f"{state}: {_job_text(job)}"
    for pause in unfinished["pauses"]:
        author = f" by {pause['author']}" if pause["author"] else ""
        reason = f": {pause['reason']}" if pause["reason"] else ""
        yield f"paused: {_subject(pause)} since {format_time(pause['created_at'])}{author}{reason}"


def _job_text(job: View) -> str:
    subject = " ".join(str(job[name]) for name in ("competition", "track", "submission_id") if job[name])
    state = job["error"] or (f"{job['stage']} {100 * (job['fraction'] or 0):.0f} %" if job["stage"] else "")
    worker = f" on {job['worker']}" if job["worker"] else ""
    return f"job {job['id']} {job['queue']} {subject} (attempt {job['attempts']}){worker}: {state}"


def _subject(pause: View) -> str:
    """The paused queue, competition or worker."""
    return " ".join(f"{kind} {pause[kind]}" for kind in ("queue", "competition", "worker") if pause[kind] is not None)


@answers(app)
def requeue(
    admin: AdminClient,
    job: Annotated[int | None, typer.Argument(help="The job's ID. Default: all failed jobs.")] = None,
    competition: Annotated[str, typer.Option(help="Only the failed jobs of this competition's private track.")] = "",
) -> Answer:
    """Restart failed jobs, or take a running job from its worker and restart it."""
    again = admin.publication.requeue(competition) if competition else admin.jobs.requeue(job)
    return Answer(again, f"Jobs restarted: {again['requeued']}.")


@answers(queues)
def pause(admin: AdminClient, queue: Queue, reason: Reason = "") -> Listing:
    """Pause a queue: workers start no more of its jobs. Running jobs continue, and queue positions are kept."""
    return paused_answer(admin.jobs.pause(queue=queue, reason=reason))


@answers(queues)
def resume(admin: AdminClient, queue: Queue, reason: Reason = "") -> Listing:
    """Resume a queue. Workers start its jobs again within one sweep interval."""
    return paused_answer(admin.jobs.resume(queue=queue, reason=reason))


def paused_answer(pauses: Sequence[View]) -> Listing:
    shown = {"paused": _subject} | columns("since=created_at", "by=author", "reason")
    return Listing(pauses, shown, "Nothing is paused.")


@answers(workers)
def drain(admin: AdminClient, worker: Worker, reason: Reason = "") -> Listing:
    """Drain a worker: it finishes its current job and takes no other, even after a restart. `kennel admin job show`
    lists running jobs.
    """
    return paused_answer(admin.jobs.pause(worker=worker, reason=reason))


@answers(workers, "resume")
def resume_worker(admin: AdminClient, worker: Worker, reason: Reason = "") -> Listing:
    """Let a drained worker take jobs again."""
    return paused_answer(admin.jobs.resume(worker=worker, reason=reason))
