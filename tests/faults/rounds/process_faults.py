"""Process faults: killed, stopped or away."""

import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import psutil
import psycopg2

from scorer.jobs.broker import RUN_JOB, create_celery_app
from tests.faults.rounds.situation import Situation
from tests.faults.rounds.stack import LEASE_SECONDS, REPOSITORY, WORKERS, until

OLDER_WORKER = """
import sys
from worker.scoring import measure
measure.SCORER_VERSION = "older"
from celery.__main__ import main
sys.exit(main())
"""


BY_OLDER = (
    "SELECT count(*) FROM measurements m JOIN submissions s ON s.ref = m.submission_ref"
    " JOIN competitions c ON c.id = s.competition_id WHERE c.slug = %(slug)s AND m.scorer_version = 'older'"
)
REPORTED = "SELECT FROM worker_reports WHERE worker = %(name)s AND reported_at > %(since)s"
RUNNING = (
    "SELECT j.id, j.queue, j.worker FROM jobs j JOIN submissions s ON s.ref = j.submission_ref"
    " JOIN competitions c ON c.id = s.competition_id WHERE c.slug = %(slug)s AND j.state = 'running'"
)


def kill(names: tuple[str, ...], situation: Situation) -> None:
    """Send SIGKILL to all processes of one of the parts."""
    situation.reach()
    name = situation.rng.choice(names)
    count = situation.stack.send_signal(name, signal.SIGKILL)
    situation.log.append(f"SIGKILL of {count} processes of {name}")


def kill_job_process(situation: Situation) -> None:
    """Send SIGKILL to the process that runs a job, but not to its worker."""
    situation.reach()
    holder = _suspended_holder(situation)
    if holder is None:
        situation.log.append("no job ran")
        return
    job, process = holder
    _kill(process)
    situation.log.append(f"SIGKILL of the process of {job}")


def _suspended_holder(situation: Situation, seconds: float = 5.0) -> tuple[str, psutil.Process] | None:
    """A running job and its process, which is suspended. None if no job runs within ``seconds``."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with suppress(psycopg2.Error, psutil.Error):
            for job, queue, worker in situation.stack.rows(RUNNING, {"slug": situation.traffic.slug}):
                process = psutil.Process(int(worker.rpartition(":")[2]))
                process.suspend()
                if any(row[0] == job for row in situation.stack.rows(RUNNING, {"slug": situation.traffic.slug})):
                    return f"job {job} ({queue})", process
                process.resume()  # the job has ended in the meantime
        time.sleep(0.002)
    return None


def kill_postgres(situation: Situation) -> None:
    """Send SIGKILL to PostgreSQL's first process, to all of them, or to one that serves a connection."""
    situation.reach()
    processes = situation.stack.processes("postgres")
    backends = [process for process in processes[1:] if "127.0.0.1" in " ".join(_command(process))]
    which = situation.rng.choice(("postmaster", "all", "backend"))
    chosen = {"postmaster": processes[:1], "all": processes, "backend": backends[:1]}[which]
    for process in chosen:
        _kill(process)
    situation.stack.forgive_crashes()
    situation.log.append(f"SIGKILL of {len(chosen)} processes of postgres ({which})")


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.Error:
        return


def silent(names: tuple[str, ...], situation: Situation) -> None:
    """Stop all processes of one of the parts (SIGSTOP). Connections stay open, but nothing answers."""
    situation.reach()
    name = situation.rng.choice(names)
    with situation.stack.stopped(name):
        situation.last()
    situation.log.append(f"SIGSTOP of {name} for {situation.outage:.1f} s")


def away_server(name: str, situation: Situation) -> None:
    """Cut and refuse connections to a server or to the web process."""
    proxy = {"postgres": situation.stack.database, "redis": situation.stack.broker, "api": situation.stack.web}[name]
    situation.reach()
    with proxy.refusing():
        situation.last()
    situation.log.append(f"{name} refused for {situation.outage:.1f} s")


def away_part(names: tuple[str, ...], situation: Situation) -> None:
    """Kill parts again whenever they start."""
    situation.reach()
    kills = 0
    end = time.monotonic() + situation.outage
    while time.monotonic() < end:
        kills += sum(situation.stack.send_signal(name, signal.SIGKILL) > 0 for name in names)
        time.sleep(0.1)
    situation.any_may_fail = True  # an entry may use up its attempts in that time
    situation.log.append(f"{' and '.join(names)} killed {kills} times within {situation.outage:.1f} s")


def worker_wakes_up(situation: Situation) -> None:
    """Stop a worker's job process in the middle of a job and let it continue after the lease has expired.

    By then, another worker has the job.
    """
    situation.reach(("accepted", "checking", "scoring", "private"))
    holder = _suspended_holder(situation)
    if holder is None:
        situation.log.append("no job ran")
        return
    job, process = holder
    time.sleep(LEASE_SECONDS + situation.rng.uniform(1, 4))
    with suppress(psutil.Error):
        process.resume()
    situation.log.append(f"SIGSTOP of the process of {job} past its lease")


def two_beats(situation: Situation) -> None:
    """Run a second beat for the whole round."""
    stack = situation.stack
    second = stack.children["beat"]
    argv = [str(word).replace("beat-schedule", "beat-schedule-2") for word in second.argv]
    with stack.extra_part(replace(second, name="beat-2", argv=argv)):
        situation.begin()
        situation.reach(("evidence",))
        situation.last()
    situation.log.append("a second beat")


def two_versions(situation: Situation) -> None:
    """Run a worker with another scorer version alongside the others, and send messages of an unknown task and queue.

    Newer code may send such messages.
    """
    stack = situation.stack
    scorer = stack.children["second"]
    celery = list(scorer.argv).index("celery")
    options = [str(word).replace("second@", "older@") for word in scorer.argv[celery + 1 :]]
    argv = [scorer.argv[0], "-c", OLDER_WORKER, *options]
    ((since,),) = stack.rows("SELECT now()")
    with stack.extra_part(replace(scorer, name="older", argv=argv, cwd=REPOSITORY)):
        app = create_celery_app(stack.settings)
        started = {"name": f"older@{socket.gethostname()}", "since": since}
        until(lambda: stack.rows(REPORTED, started), "the older worker to report", 60)
        situation.begin()
        situation.reach(("accepted", "evidence"))
        app.send_task("kennel.not-yet", args=["check"], queue="check", ignore_result=True)
        app.send_task(RUN_JOB, args=["not-yet-a-queue"], queue="check", ignore_result=True)
        situation.last()
    ((count,),) = stack.rows(BY_OLDER, {"slug": situation.traffic.slug})
    situation.log.append(f"an older worker, which made {count} measurements; two unknown messages")


KINDS: dict[str, Callable[[Situation], None]] = {
    "kill-web": partial(kill, ("api",)),
    "kill-worker": partial(kill, WORKERS),
    "kill-job-process": kill_job_process,
    "kill-beat": partial(kill, ("beat",)),
    "kill-redis": partial(kill, ("redis",)),
    "kill-postgres": kill_postgres,
    "silent-web": partial(silent, ("api",)),
    "silent-worker": partial(silent, WORKERS),
    "silent-beat": partial(silent, ("beat",)),
    "silent-redis": partial(silent, ("redis",)),
    "silent-postgres": partial(silent, ("postgres",)),
    "away-web": partial(away_server, "api"),
    "away-workers": partial(away_part, WORKERS),
    "away-beat": partial(away_part, ("beat",)),
    "away-redis": partial(away_server, "redis"),
    "away-postgres": partial(away_server, "postgres"),
    "worker-wakes-up": worker_wakes_up,
    "two-beats": two_beats,
    "two-versions": two_versions,
}
