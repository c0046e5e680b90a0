"""Structured logs: one line per record, as JSON for programs or as text for people.

Modules log with :mod:`logging`. This module configures the format once per process, and adds the ids of the current
request or job to each record.
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
"""Libraries that log each step at INFO. Their records are shown from WARNING on, or at the level DEBUG."""
ACCESS_LOGGER = "uvicorn.access"


class RequestRecord:
    """Additional fields of a request's log line. All threads of the request share it."""

    def __init__(self, request_id: str) -> None:
        self.id = request_id
        self.fields: dict[str, Any] = {}
        self.span = current_span()


_request: ContextVar[RequestRecord | None] = ContextVar("kennel_request", default=None)


def begin_request(request_id: str) -> RequestRecord:
    """Add ``request_id`` to every log record of the request that begins now."""
    record = RequestRecord(request_id)
    _request.set(record)
    structlog.contextvars.bind_contextvars(request_id=request_id)
    annotate_span(record.span, request_id=request_id)
    return record


def request_id() -> str | None:
    """None outside of requests."""
    record = _request.get()
    return record.id if record is not None else None


def annotate_request(**fields: Any) -> None:
    """Add fields to the log line and the span of the current request; do nothing outside of requests."""
    record = _request.get()
    if record is not None:
        record.fields.update(fields)
        annotate_span(record.span, **fields)


def log_context(**ids: Any) -> AbstractContextManager[None]:
    """Add fields, such as the id of a job, to every log record within the context. None values are left out."""
    return structlog.contextvars.bound_contextvars(**{name: value for name, value in ids.items() if value is not None})


def configure_logging(level: str, log_format: LogFormat = "auto", stream: TextIO | None = None) -> None:
    """Write the records of all loggers from ``level`` on to ``stream`` (default: stderr).

    ``auto`` is JSON unless the stream is a terminal. :mod:`api.http.access_log` replaces Uvicorn's line per request.
    """
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
        # structlog's rich tracebacks show local variables, which may contain secrets.
        plain = structlog.dev.plain_traceback
        rendering += [structlog.dev.ConsoleRenderer(colors=colours, exception_formatter=plain)]
    return structlog.stdlib.ProcessorFormatter(foreign_pre_chain=every, processors=rendering)


def _without_coloured_message(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event.pop("color_message", None)  # uvicorn's second copy of the message, with escape sequences
    return event
