"""Sends messages to the broker in a thread of its own, so that a broker that is away delays no request."""

import logging
import os
import threading
import time
from collections import Counter
from queue import SimpleQueue

from celery import Celery

from scorer.jobs.circuit_breaker import CircuitBreaker
from scorer.lifecycle import Queue

log = logging.getLogger(__name__)

SEND_SECONDS = 0.25
"""Longest wait for the broker. What it has not taken by then is sent later, or again by the sweep."""

STUCK_SECONDS = 1.0
"""Time for one message after which the broker is taken to be silent, and others are dropped at once."""

Parcel = tuple[Celery, Counter[Queue], threading.Event]
"""Messages by queue, and the event that they have been sent."""


class MessageSender:
    """Sends messages for ``task`` in order, in one thread that ends with the process. While the broker refuses or is
    silent messages are dropped: they are hints, and the sweep sends what is missing."""

    def __init__(self, task: str) -> None:
        self._task = task
        self.start_anew()
        os.register_at_fork(after_in_child=self.start_anew)

    def start_anew(self) -> None:
        """Forget the thread: a forked process has none of its parent's."""
        self._breaker = CircuitBreaker()
        self._lock = threading.Lock()
        self._parcels: SimpleQueue[Parcel] | None = None
        self._sending_since: float | None = None

    def send(self, app: Celery, messages: Counter[Queue]) -> None:
        """Send messages by queue; returns when they are sent, or after ``SEND_SECONDS``."""
        if not messages or self._breaker.is_open or self._is_stuck():
            return
        sent = threading.Event()
        with self._lock:
            if self._parcels is None:
                self._parcels = SimpleQueue()
                threading.Thread(target=self._run, args=(self._parcels,), name="messages", daemon=True).start()
            self._parcels.put((app, messages, sent))
        if not sent.wait(SEND_SECONDS):
            log.warning("the broker has not answered yet; the sweep will send what is missing")

    def _is_stuck(self) -> bool:
        """Whether a single message takes too long: the broker is silent."""
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
            except Exception as error:  # noqa: BLE001 - whatever it is, the work is committed and must not be undone
                self._breaker.trip()
                log.warning("the broker did not take a message; the sweep will repeat it: %s", error)
            self._sending_since = None
            sent.set()
