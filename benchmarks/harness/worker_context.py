"""A worker's bench that stands alone: a folder for blobs, a database and a broker that nobody calls."""

from pathlib import Path

from scorer.jobs.broker import create_celery_app
from scorer.settings import Settings
from worker.runtime.context import WorkerContext


def worker_context_in(folder: Path) -> WorkerContext:
    """Blobs and scratch in ``folder``. Its addresses lead nowhere, and nothing is connected to before it is used."""
    settings = Settings(
        database_url="postgresql://nobody@localhost/none",
        redis_url="redis://localhost/0",
        blob_url=(folder / "blobs").as_uri(),
        scratch=folder / "scratch",
        device="cpu",
    )
    return WorkerContext.open(settings, create_celery_app(settings))
