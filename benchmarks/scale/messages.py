"""Messages of the queue server, as a simulation takes them: each job has one, which may come late or be lost."""

import time
from collections.abc import Callable
from typing import Protocol

from scorer.lifecycle import Queue

MESSAGE_SECONDS = 10.0
"""Real time after which a message is taken to be lost. Who sends it waits for the queue server for a quarter of a
second alone, so on a busy machine it comes after the answer that speaks of the job."""
PAUSE_SECONDS = 0.001


class MessageChannel(Protocol):
    """What is needed of a channel of kombu."""

    def basic_get(self, queue: str, no_ack: bool = False) -> object | None:
        """A message, or None if there is none."""


class Messages:
    """Takes the message of a job that exists. ``send_again`` sends those that are missing, as the service's sweep does;
    ``seconds`` is how long a message is waited for."""

    def __init__(
        self, channel: MessageChannel, send_again: Callable[[], object], *, seconds: float = MESSAGE_SECONDS
    ) -> None:
        self._channel, self._send_again, self._seconds = channel, send_again, seconds
        self.lost = 0
        """Messages that had to be sent again."""

    def take(self, queue: Queue) -> None:
        """Take a message of a queue that has a job without a worker. One that does not come is sent again;
        ``TimeoutError`` if that one does not come either."""
        if self._comes(queue):
            return
        self.lost += 1
        self._send_again()
        if not self._comes(queue):
            raise TimeoutError(f"a job of the queue {queue} has no message, although it was sent again")

    def _comes(self, queue: Queue) -> bool:
        ends_at = time.monotonic() + self._seconds
        while self._channel.basic_get(queue.value, no_ack=True) is None:
            if time.monotonic() > ends_at:
                return False
            time.sleep(PAUSE_SECONDS)
        return True
