"""The Celery broker: messages that announce a job of a queue, sent after the commit that created the job.

This module knows tasks only by name and never imports the worker's code. A separate thread sends messages, so an
unavailable broker delays no request.
"""

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from queue import SimpleQueue

from celery import Celery
from redis import Redis
from redis.exceptions import RedisError
from sqlalchemy.orm import Session

from scorer.db.session import Sessions
from scorer.errors import Unavailable
from scorer.jobs.circuit_breaker import CircuitBreaker
from scorer.lifecycle import SWEEP_QUEUE, UPLOADS_QUEUE, Queue
from scorer.settings import Settings

log = logging.getLogger(__name__)

SEND_SECONDS = 0.25
"""The longest wait for the broker. Later messages are sent by the thread or repeated by the sweep."""

STUCK_SECONDS = 1.0
"""The time for one message after which the broker counts as silent, and further messages are dropped immediately."""

Parcel = tuple[Celery, Counter[Queue], threading.Event]
"""Messages by queue, and an event that is set when they have been sent."""


class MessageSender:
    """Sends messages for ``task`` in order, in one daemon thread.

    Messages are dropped while the broker refuses them or is silent. They are only hints: the sweep repeats them.
    """

    def __init__(self, task: str) -> None:
        self._task = task
        self.reset_after_fork()
        os.register_at_fork(after_in_child=self.reset_after_fork)

    def reset_after_fork(self) -> None:
        """Forget the thread: a forked process does not have its parent's threads."""
        self._breaker = CircuitBreaker()
        self._lock = threading.Lock()
        self._parcels: SimpleQueue[Parcel] | None = None
        self._sending_since: float | None = None

    def send(self, app: Celery, messages: Counter[Queue]) -> None:
        """Send messages by queue. Returns when they are sent, or after ``SEND_SECONDS``."""
        if not messages or self._breaker.is_open or self._is_stuck():
            return
        sent = threading.Event()
        with self._lock:
            if self._parcels is None:
                self._parcels = SimpleQueue()
                threading.Thread(target=self._run, args=(self._parcels,), name="messages", daemon=True).start()
            self._parcels.put((app, messages, sent))
        if not sent.wait(SEND_SECONDS):
            log.warning("the broker has not answered yet; the sweep will send missing messages")

    def _is_stuck(self) -> bool:
        since = self._sending_since
        return since is not None and time.monotonic() - since > STUCK_SECONDS

    def _run(self, parcels: "SimpleQueue[Parcel]") -> None:
        while True:
            app, messages, sent = parcels.get()
            try:
                if not self._breaker.is_open:
                    for queue in messages.elements():
                        self._sending_since = time.monotonic()
                        app.send_task(
                            self._task, args=[queue.value], queue=queue.value, ignore_result=True, retry=False
                        )
            except Exception as error:  # noqa: BLE001 - the transaction is committed: no error here may undo its effects
                self._breaker.trip()
                log.warning("the broker did not accept a message; the sweep will repeat it: %s", error)
            self._sending_since = None
            sent.set()


RUN_JOB = "kennel.run_job"
SWEEP = "kennel.sweep"
MAIL = "kennel.mail"
POST = "kennel.post"
UPLOADS = "kennel.uploads"
LOST = "kennel.lost"
VISIBILITY_SECONDS = 24 * 3600
"""Longer than the longest job: the lease, not a redelivery by the broker, decides which worker has a job."""

_WRITTEN, _WRITTEN_SECONDS = "kennel.written", 60
"""The key that a process writes to test the queue server, and its lifetime in seconds."""
_PENDING = "kennel.messages"
_AFTER_COMMIT = "kennel.after-commit"
_sender = MessageSender(RUN_JOB)


def create_celery_app(settings: Settings) -> Celery:
    """Create the Celery application of web processes and workers. The worker adds its tasks."""
    app = Celery("kennel", broker=settings.redis_url.get_secret_value(), set_as_current=False)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        task_create_missing_queues=True,
        worker_prefetch_multiplier=1,
        # Celery ends the process of a hanging job. Then the lease expires and another attempt begins.
        task_time_limit=settings.max_job_seconds,
        # Otherwise anybody with access to the broker could stop workers. The workers' reports show what runs.
        worker_enable_remote_control=False,
        worker_hijack_root_logger=False,
        # A repeated message after a lost connection costs nothing, a restarted score costs an hour.
        worker_cancel_long_running_tasks_on_connection_loss=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        # A server that refuses writes (a replica, a full disk) answers with errors. Workers must also wait for it.
        broker_channel_error_retry=True,
        broker_transport_options={
            "visibility_timeout": VISIBILITY_SECONDS,
            "socket_connect_timeout": 5,
            "socket_timeout": 10,
            "retry_on_timeout": True,
            # Seconds that a worker waits for a message before it asks again. Every request costs CPU time.
            "polling_interval": 5,
        },
        enable_utc=True,
        beat_schedule={
            task: {
                "task": task,
                "schedule": float(rounds * settings.sweep_seconds),
                "options": {"queue": queue, "expires": 10 * rounds * settings.sweep_seconds},
            }
            for task, queue, rounds in (
                (SWEEP, SWEEP_QUEUE, 1),
                (MAIL, SWEEP_QUEUE, 1),
                (POST, SWEEP_QUEUE, 1),
                (UPLOADS, UPLOADS_QUEUE, 2),
                (LOST, SWEEP_QUEUE, 240),
            )
        },
    )
    return app


@contextmanager
def transaction(sessions: Sessions, app: Celery) -> Iterator[Session]:
    """A database transaction that commits at the end and then sends its messages and makes its other calls.

    A rollback drops all of them.
    """
    with sessions() as session:  # without session.begin(): a transaction that only reads may release its connection
        yield session
        session.commit()
    for act in session.info.pop(_AFTER_COMMIT, ()):
        act()
    messages: Counter[Queue] = session.info.pop(_PENDING, Counter())
    _sender.send(app, messages)


def after_commit(session: Session, act: Callable[[], object]) -> None:
    """Call ``act`` after this transaction's commit, for counting and logging, which cannot be rolled back."""
    session.info.setdefault(_AFTER_COMMIT, []).append(act)


def send_after_commit(session: Session, queue: Queue, *, count: int = 1) -> None:
    session.info.setdefault(_PENDING, Counter())[queue] += count


def queue_lengths(app: Celery, names: Iterable[str]) -> Mapping[str, int]:
    """Return the number of waiting messages of each queue, without those that a worker has received."""
    with app.connection_for_read() as connection, connection.channel() as channel:
        return {name: int(channel._size(name)) for name in names}  # noqa: SLF001 - kombu's only name for LLEN


def require_single_server(settings: Settings) -> None:
    """``Unavailable`` if the queue server is in cluster mode, which spreads the queues' keys over several servers.

    A server that does not answer passes.
    """
    url = settings.redis_url.get_secret_value()
    with suppress(RedisError), Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
        if client.info("cluster").get("cluster_enabled"):
            raise Unavailable(
                "broker-cluster",
                "The queue server of REDIS_URL is in cluster mode, which Kennel does not support. Use a single server "
                "(`cluster-enabled no`).",
            )


def require_writable_broker(app: Celery) -> None:
    """Raise if the queue server does not answer within a few seconds or refuses writes (a replica, a full disk)."""
    with app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, timeout=2)
        with connection.channel() as channel:
            channel.client.set(_WRITTEN, "", ex=_WRITTEN_SECONDS)


def waiting_messages(app: Celery) -> Mapping[Queue, int]:
    return {Queue(name): length for name, length in queue_lengths(app, [queue.value for queue in Queue]).items()}
