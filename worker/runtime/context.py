"""The worker context: settings, connections and loaded extractors of one worker process."""

import logging
import os
import socket
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from celery import Celery
from sqlalchemy.orm import Session

from scorer.blobs import Blobs, open_blobs
from scorer.db.session import Sessions, build_engine, build_sessions
from scorer.errors import Unavailable
from scorer.extractors import Extractor, ExtractorOptions, load
from scorer.extractors.options import parse_device
from scorer.jobs.broker import transaction
from scorer.lifecycle import Queue
from scorer.settings import Settings
from worker.runtime.device_turns import TakingTurns, device_turn
from worker.runtime.health import WorkerHealth, device_losses

log = logging.getLogger(__name__)


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass
class WorkerContext:
    """Settings, connections, and the extractors that this process has loaded so far."""

    settings: Settings
    broker: Celery
    sessions: Sessions
    blobs: Blobs
    now: Callable[[], datetime] = utc_now
    name: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")
    health: WorkerHealth = field(default_factory=WorkerHealth)
    queues: Collection[Queue] = tuple(Queue)
    """The queues that this process takes jobs from."""
    _extractors: dict[str, Extractor] = field(default_factory=dict)

    @classmethod
    def open(cls, settings: Settings, broker: Celery, queues: Collection[Queue] = tuple(Queue)) -> "WorkerContext":
        """Connect to the database and the blob store, for jobs of these queues."""
        health = WorkerHealth(factor=settings.retry_factor)
        if device_losses.value:
            health.suspect("the previous process has lost its GPU", failures=device_losses.value)
        engine = build_engine(settings, max_connections=settings.worker_connections)
        return cls(settings, broker, build_sessions(engine), open_blobs(settings), health=health, queues=queues)

    def transaction(self) -> AbstractContextManager[Session]:
        """A transaction of this process (:func:`scorer.jobs.broker.transaction`)."""
        return transaction(self.sessions, self.broker)

    @property
    def lease(self) -> timedelta:
        """How long a job belongs to this worker without a heartbeat."""
        return timedelta(seconds=self.settings.lease_seconds)

    @property
    def scratch(self) -> Path:
        """A folder whose loss costs only time."""
        return self.settings.scratch

    def extractor(self, identity: str, *, public: bool = False) -> Extractor:
        """The extractor ``name@version``, loaded once per process. It computes features in this process's turns;
        ``public`` jobs precede background jobs. Raises ``Unavailable`` if its weights are missing or wrong.
        """
        if identity not in self._extractors:
            with device_turn():  # loading measures how much memory a batch needs
                self._extractors[identity] = self._load(identity, build_extractor_options(self.settings))
        return TakingTurns(self._extractors[identity], public)

    def _load(self, identity: str, options: ExtractorOptions) -> Extractor:
        """Load an extractor; if the GPU has no room for it, unload the others first."""
        try:
            return load(identity, options=options)
        except Unavailable as error:
            if error.slug != "no-gpu-memory" or not self._extractors:
                raise
        # not in the handler: the error holds references to partly loaded data
        loaded = ", ".join(self._extractors)
        log.warning(
            "the GPU has no room for %s in addition to %s, which will be loaded again when needed", identity, loaded
        )
        self._extractors.clear()
        return load(identity, options=options)

    def loaded_extractors(self) -> Collection[Extractor]:
        return [TakingTurns(extractor) for extractor in self._extractors.values()]


def build_extractor_options(settings: Settings) -> ExtractorOptions:
    device, device_index = parse_device(settings.device)
    return ExtractorOptions(
        weights_dir=settings.weights_dir,
        weights_sha256=settings.weights_sha256,
        device=device,
        device_index=device_index,
        batch_size=settings.batch_size,
        cache_dir=settings.scratch / "extractors",
    )
