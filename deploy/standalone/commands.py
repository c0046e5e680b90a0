"""The command lines of the service's own processes, wherever they are started."""

import sys
from collections.abc import Iterable

from scorer.jobs.broker import SWEEP_QUEUE

PYTHON = (sys.executable, "-m")
CELERY = (*PYTHON, "celery", "-A", "worker.app", "--quiet")

HTTP_PROTOCOL = "api.http.server_protocol:BoundedHttpProtocol"
SCORING_QUEUES = ("score", "prepare", "compare", "rescore")
"""All that a worker with a GPU takes."""
PROCESSES_OF_A_GPU = 2
"""They take turns: one computes features while the other reads, decodes and records."""
BACKGROUND_QUEUES = ("release", "ratings", "evidence", "recover")
CHECKING_QUEUES = ("check", SWEEP_QUEUE)


def web_command(host: str, port: int, processes: int) -> tuple[str, ...]:
    """The web server: ``processes`` of them share one port of ``host``."""
    uvicorn = (*PYTHON, "uvicorn", "--factory", "api.main:served_app", "--http", HTTP_PROTOCOL)
    address = ("--host", host, "--port", str(port), "--workers", str(processes))
    return (*uvicorn, "--no-server-header", "--no-proxy-headers", *address)


def worker_command(name: str, queues: Iterable[str], *, processes: int = 1) -> tuple[str, ...]:
    """A worker for some queues, called ``name`` and its host's."""
    worker = (*CELERY, "worker", "--concurrency", str(processes), "--without-gossip", "--without-mingle")
    return (*worker, "-Q", ",".join(queues), "-n", f"{name}@%h")


def beat_command(schedule: str) -> tuple[str, ...]:
    """Beat, which keeps in the file ``schedule`` what it has sent."""
    return (*CELERY, "beat", "-s", schedule, "--pidfile=")
