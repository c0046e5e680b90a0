"""Structured logs: one line a record, as JSON for programs or as text for people, with the ids of what it belongs to.

Modules log with :mod:`logging`. This module decides once a process how records are written, and adds the ids of the
request or the job in hand to each of them.
"""

import logging
import sys
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from scorer.monitoring.traces import annotate_span, current_span

LogFormat = Literal["auto", "json", "text"]
CHATTY = ("alembic", "amqp", "botocore", "celery", "httpcore", "httpx", "httpx2", "kombu", "urllib3")
"""Libraries that tell each of their steps at INFO; they are heard from WARNING on, or at DEBUG."""
ACCESS_LOGGER = "uvicorn.access"


class RequestRecord:
    """What the line of one request says beside its method, path and status. Threads of the request share it."""

    def __init__(self, request_id: str) -> None:
        self.id = request_id
        self.fields: dict[str, Any] = {}
        self.span = current_span()


_request: ContextVar[RequestRecord | None] = ContextVar("kennel_request", default=None)


def begin_request(request_id: str) -> RequestRecord:
    """Put ``request_id`` into every record that is logged for the request which begins now."""
    record = RequestRecord(request_id)
    _request.set(record)
    structlog.contextvars.bind_contextvars(request_id=request_id)
    annotate_span(record.span, request_id=request_id)
    return record


def request_id() -> str | None:
    """The id of the request in hand; None outside of requests."""
    record = _request.get()
    return record.id if record is not None else None


def annotate_request(**fields: Any) -> None:
    """Add fields to the line and the span of the request in hand; does nothing outside of requests."""
    record = _request.get()
    if record is not None:
        record.fields.update(fields)
        annotate_span(record.span, **fields)


def log_context(**ids: Any) -> AbstractContextManager[None]:
    """A context in which every record has these fields, such as the id of a job. None is left out."""
    return structlog.contextvars.bound_contextvars(**{name: value for name, value in ids.items() if value is not None})


def configure_logging(level: str, log_format: LogFormat = "auto", stream: TextIO | None = None) -> None:
    """Write the records of all loggers from ``level`` on to ``stream`` (stderr). ``auto`` is JSON unless the stream is
    a terminal. Uvicorn's line for each request is replaced by that of :mod:`api.http.access_log`."""
    stream = stream or sys.stderr
    as_json = log_format == "json" or (log_format == "auto" and not stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_formatter(as_json=as_json, colours=stream.isatty()))
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(level if level in {"DEBUG", "ERROR"} else "WARNING")
    for name in ("uvicorn", "uvicorn.error", ACCESS_LOGGER):
        server = logging.getLogger(name)
        server.handlers = []
        server.setLevel(logging.NOTSET)
        server.propagate = name != ACCESS_LOGGER
    logging.captureWarnings(capture=True)


def _formatter(*, as_json: bool, colours: bool) -> logging.Formatter:
    every: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _without_coloured_message,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendering: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if as_json:
        rendering += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # Its richer tracebacks show local variables, which may hold secrets.
        plain = structlog.dev.plain_traceback
        rendering += [structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain)]
    return structlog.stdlib.ProcessorFormatter(foreign_pre_chain=every, processors=rendering)


def _without_coloured_message(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event.pop("color_message", None)  # uvicorn's message once more, with escape sequences
    return event
