"""A worker context without services: blobs in a folder, a database and a broker that are never connected to."""

from pathlib import Path

from scorer.jobs.broker import create_celery_app
from scorer.settings import Settings
from worker.runtime.context import WorkerContext


def worker_context_in(folder: Path) -> WorkerContext:
    """A worker context with blobs and scratch in ``folder``. Its database and broker do not exist."""
    settings = Settings(
        database_url="postgresql://nobody@localhost/none",
        redis_url="redis://localhost/0",
        blob_url=(folder / "blobs").as_uri(),
        scratch=folder / "scratch",
        device="cpu",
    )
    return WorkerContext.open(settings, create_celery_app(settings))
