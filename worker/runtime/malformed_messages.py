"""Malformed messages on the broker: logged and dropped, because Celery would end the worker.

Only somebody with the broker's password can send one. No job is lost: the sweep sends a missing message again.
"""

import logging
from typing import Any

from celery.signals import task_received
from kombu.transport import redis
from redis.exceptions import DataError

log = logging.getLogger(__name__)
HEADERS = {"id", "task", "args", "kwargs", "expires", "hostname", "properties", "delivery_info"}
"""The fields that a request takes from a message and its worker. Kennel does not use Celery's other headers."""
ERRORS = (ValueError, TypeError, KeyError, AttributeError, RecursionError, DataError)
"""Errors of kombu and Celery for a message that is not JSON or lacks a field; they include no connection errors."""


class Channel(redis.Channel):
    """A channel that survives malformed messages."""

    def _brpop_read(self, **options: Any) -> Any:
        before = set(self.qos._delivered)  # noqa: SLF001 - kombu's only name for what is not acknowledged
        try:
            return super()._brpop_read(**options)  # type: ignore[no-untyped-call]
        except ERRORS as error:
            log.error("a malformed message was dropped: %s: %s", type(error).__name__, error)  # noqa: TRY400
            for tag in set(self.qos._delivered) - before:  # noqa: SLF001
                self.basic_reject(tag, requeue=False)  # type: ignore[no-untyped-call]
            return True


redis.Transport.Channel = Channel


@task_received.connect
def ignore_other_headers(request: Any, **_: object) -> None:
    """Reduce a request to the fields that Kennel sends. Celery would read a wrong time limit or stamp only after it has
    reserved a process for the request, and never release that process: the worker is stuck.
    """
    request.time_limits = (None, None)  # the worker has its own limits
    for name in request.request_dict.keys() - HEADERS:
        del request.request_dict[name]
