"""The command lines of the service's own processes, for all ways to start them."""

import sys
from collections.abc import Iterable

from scorer.lifecycle import SWEEP_QUEUE, UPLOADS_QUEUE

PYTHON = (sys.executable, "-m")
WEB, WORKER, BEAT = "api.main:served_app", "worker.app", "worker.celery_beat"
"""The applications for uvicorn and Celery. They identify the service's processes by their command line."""
HTTP_PROTOCOL, SERVER_LOOP = "api.http.server_protocol:BoundedHttpProtocol", "api.http.server_protocol:ServerLoop"
SCORING_QUEUES = ("score", "prepare", "compare", "rescore")
"""All queues for a worker with a GPU."""
PROCESSES_PER_GPU = 2
"""The processes take turns: one computes features while the other reads, decodes and records."""
MAX_SCORING_THREADS = 8
"""The most threads of each process that scores on a GPU; its work outside the GPU gains little from more."""
DRAWING_QUEUES = ("draw",)
BACKGROUND_QUEUES = ("release", "ratings", "evidence", "recover")
CHECKING_QUEUES = ("check", UPLOADS_QUEUE)
SWEEPING_QUEUES = (SWEEP_QUEUE,)
"""The sweep, mails and webhooks."""


def web_command(host: str, port: int, processes: int | str) -> tuple[str, ...]:
    """The web server: ``processes`` processes (a number, or a variable in the command) share one port of ``host``."""
    uvicorn = (*PYTHON, "uvicorn", "--factory", WEB, "--http", HTTP_PROTOCOL, "--loop", SERVER_LOOP, "--ws", "none")
    address = ("--host", host, "--port", str(port), "--workers", str(processes))
    return (*uvicorn, "--no-server-header", "--no-proxy-headers", *address)


def _celery(application: str) -> tuple[str, ...]:
    return (*PYTHON, "celery", "-A", application, "--quiet")


def worker_command(name: str, queues: Iterable[str], *, processes: int = 1) -> tuple[str, ...]:
    """A worker for some queues, called ``name`` at its host."""
    worker = (*_celery(WORKER), "worker", "--concurrency", str(processes), "--without-gossip", "--without-mingle")
    return (*worker, "-Q", ",".join(queues), "-n", f"{name}@%h")


def scoring_threads(cores: int, gpus: int) -> int:
    """Threads of each process that scores on one of this machine's GPUs; together they get half of the cores.

    Without a limit each process has a thread for every core. Threads that share a matrix product wait for each other,
    and so also for the threads of other processes. On 16 cores a GPU was idle for a minute while evidence was computed.
    """
    return min(MAX_SCORING_THREADS, max(1, cores // 2 // (gpus * PROCESSES_PER_GPU)))


def background_threads(cores: int, gpus: int) -> int:
    """Threads of the process without a GPU on a machine with GPUs; it gets the remaining cores."""
    return max(1, cores - gpus * PROCESSES_PER_GPU * scoring_threads(cores, gpus))


def beat_command(schedule: str) -> tuple[str, ...]:
    """Beat; the file ``schedule`` records what it has sent."""
    return (*_celery(BEAT), "beat", "-s", schedule, "--pidfile=")
