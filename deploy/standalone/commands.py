"""The command lines of the service's own processes, wherever they are started."""

import sys
from collections.abc import Iterable

from scorer.lifecycle import SWEEP_QUEUE, UPLOADS_QUEUE

PYTHON = (sys.executable, "-m")
WEB, WORKER, BEAT = "api.main:served_app", "worker.app", "worker.celery_beat"
"""What uvicorn and Celery are told to run: a word of every command line of the service's processes."""
HTTP_PROTOCOL, SERVER_LOOP = "api.http.server_protocol:BoundedHttpProtocol", "api.http.server_protocol:ServerLoop"
SCORING_QUEUES = ("score", "prepare", "compare", "rescore")
"""All that a worker with a GPU takes."""
PROCESSES_OF_A_GPU = 2
"""They take turns: one computes features while the other reads, decodes and records."""
MAX_SCORING_THREADS = 8
"""Of each process that scores on a GPU: what it does beside the GPU gains little from more."""
BACKGROUND_QUEUES = ("release", "ratings", "evidence", "recover")
CHECKING_QUEUES = ("check", UPLOADS_QUEUE)
SWEEPING_QUEUES = (SWEEP_QUEUE,)
"""The sweep, mails and webhooks."""


def web_command(host: str, port: int, processes: int | str) -> tuple[str, ...]:
    """The web server: ``processes`` of them, or as many as a variable in it says, share one port of ``host``."""
    uvicorn = (*PYTHON, "uvicorn", "--factory", WEB, "--http", HTTP_PROTOCOL, "--loop", SERVER_LOOP, "--ws", "none")
    address = ("--host", host, "--port", str(port), "--workers", str(processes))
    return (*uvicorn, "--no-server-header", "--no-proxy-headers", *address)


def _celery(application: str) -> tuple[str, ...]:
    return (*PYTHON, "celery", "-A", application, "--quiet")


def worker_command(name: str, queues: Iterable[str], *, processes: int = 1) -> tuple[str, ...]:
    """A worker for some queues, called ``name`` and its host's."""
    worker = (*_celery(WORKER), "worker", "--concurrency", str(processes), "--without-gossip", "--without-mingle")
    return (*worker, "-Q", ",".join(queues), "-n", f"{name}@%h")


def scoring_threads(cores: int, gpus: int) -> int:
    """Threads of each process that scores on one of this machine's GPUs: all of them together have half of the cores.

    Without a limit each process has a thread for every core, and the threads of one product, which wait for each other,
    wait for those of other processes: on 16 cores a GPU was seen idle for a minute beside evidence.
    """
    return min(MAX_SCORING_THREADS, max(1, cores // 2 // (gpus * PROCESSES_OF_A_GPU)))


def background_threads(cores: int, gpus: int) -> int:
    """Threads of the process without a GPU on a machine with GPUs: on the cores that are left."""
    return max(1, cores - gpus * PROCESSES_OF_A_GPU * scoring_threads(cores, gpus))


def beat_command(schedule: str) -> tuple[str, ...]:
    """Beat, which keeps in the file ``schedule`` what it has sent."""
    return (*_celery(BEAT), "beat", "-s", schedule, "--pidfile=")
