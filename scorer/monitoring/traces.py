"""OpenTelemetry traces: spans of requests and jobs, with the same ids as log records.

They are off unless the setting ``traces_endpoint`` names a collector, and need the extra ``traces``. FastAPI creates
the spans of requests, this module those of jobs. Messages in the queue carry no trace context, so the id of an entry's
trace is computed from the entry's id. Every process, and everybody who knows the entry, can find its trace.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from importlib.util import find_spec

from opentelemetry import trace
from opentelemetry.trace import Link, Span

from scorer.errors import Unavailable

PREFIX = "kennel."
"""The prefix of Kennel's attributes."""

_trace_id: ContextVar[int | None] = ContextVar("kennel_trace_id", default=None)
"""The trace of the next span without a parent."""


def require_exporter(endpoint: str | None) -> None:
    """``Unavailable`` if ``endpoint`` is set but the exporter is not installed."""
    if endpoint is not None and find_spec("opentelemetry.exporter") is None:
        raise Unavailable(
            "no-traces",
            "KENNEL_TRACES_ENDPOINT is set, but the packages for sending traces are missing. In Kennel's source "
            "folder, run pip install ./client '.[traces]'.",
        )


def configure_traces(endpoint: str | None, service: str) -> None:
    """Send the spans of this process, named ``service``, to the collector at ``endpoint``; do nothing without one.

    ``Unavailable`` if the extra is missing. Call it after forking, because it starts a thread.
    """
    require_exporter(endpoint)
    if endpoint is None:
        return
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator  # noqa: PLC0415

    class EntryIds(RandomIdGenerator):
        """Trace ids: the entry's id in the trace of an entry, else random."""

        def generate_trace_id(self) -> int:
            return _trace_id.get() or super().generate_trace_id()

    provider = TracerProvider(resource=Resource.create({"service.name": service}), id_generator=EntryIds())
    exporter = OTLPSpanExporter(endpoint=f"{endpoint.rstrip('/')}/v1/traces")
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)


def end_traces() -> None:
    """Send the remaining spans, for processes that end without the interpreter's exit handlers."""
    shut_down = getattr(trace.get_tracer_provider(), "shutdown", None)
    if shut_down is not None:
        shut_down()


def compute_trace_id(submission_id: str) -> int:
    """Return the id of an entry's trace: the first 128 bits of the SHA-256 of its public id."""
    return int.from_bytes(hashlib.sha256(submission_id.encode()).digest()[:16])


def current_span() -> Span:
    """Return the current span, or a span that records nothing."""
    return trace.get_current_span()


def annotate_span(span: Span, **ids: object) -> None:
    """Add ids to a span. For an accepted entry, also add a linked span to the entry's trace."""
    if not span.is_recording():
        return
    span.set_attributes(_attributes(ids))
    submission_id = ids.get("submission_id")
    if isinstance(submission_id, str):
        with _entry_span("accepted", submission_id, ids, links=[Link(span.get_span_context())]):
            pass


@contextmanager
def job_span(queue: str, *, queued_at: datetime | None, submission_id: str | None, **ids: object) -> Iterator[Span]:
    """Record a span of the wait in the queue since ``queued_at``, and a span of the job in the block.

    Both are in the trace of the job's entry, if it has one.
    """
    every = {"queue": queue, "submission_id": submission_id, **ids}
    if queued_at is not None:
        with _entry_span(f"wait for {queue}", submission_id, every, start=queued_at):
            pass
    with _entry_span(queue, submission_id, every) as span:
        yield span


def add_stage(stage: str) -> None:
    trace.get_current_span().add_event(stage)


@contextmanager
def _entry_span(
    name: str,
    submission_id: str | None,
    ids: Mapping[str, object],
    *,
    start: datetime | None = None,
    links: list[Link] | None = None,
) -> Iterator[Span]:
    """A span without a parent: the first span of a trace, or a further span of an entry's trace."""
    token = _trace_id.set(compute_trace_id(submission_id) if submission_id is not None else None)
    try:
        with trace.get_tracer("kennel").start_as_current_span(
            name,
            context=trace.set_span_in_context(trace.INVALID_SPAN),
            attributes=_attributes(ids),
            links=links,
            start_time=int(start.timestamp() * 1e9) if start is not None else None,
        ) as span:
            yield span
    finally:
        _trace_id.reset(token)


def _attributes(ids: Mapping[str, object]) -> dict[str, str | int]:
    return {PREFIX + name: value for name, value in ids.items() if isinstance(value, (str, int))}
