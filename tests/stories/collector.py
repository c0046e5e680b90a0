"""An OpenTelemetry collector that stores the spans it receives: OTLP over HTTP, as protobuf."""

import gzip
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class SeenSpan:
    """A received span. ``links`` are IDs of other traces; times are in seconds since 1970."""

    service: str
    name: str
    trace_id: int
    attributes: Mapping[str, Any]
    links: tuple[int, ...]
    began: float
    ended: float


@dataclass(frozen=True)
class Collector:
    """The spans received so far, and the endpoint that receives them."""

    endpoint: str
    spans: list[SeenSpan]

    def in_trace(self, trace_id: int) -> list[SeenSpan]:
        """The spans of a trace, in order of their start."""
        return sorted((span for span in self.spans if span.trace_id == trace_id), key=lambda span: span.began)


@contextmanager
def collector() -> Iterator[Collector]:
    """Run a collector on a free loopback port during the block."""
    spans: list[SeenSpan] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            if self.path == "/v1/traces":
                spans.extend(_parse_spans(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Collector(f"http://127.0.0.1:{server.server_port}", spans)
        server.shutdown()


def _parse_spans(body: bytes) -> Iterator[SeenSpan]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        service = _values(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield SeenSpan(
                    service,
                    span.name,
                    int.from_bytes(span.trace_id),
                    _values(span.attributes),
                    tuple(int.from_bytes(link.trace_id) for link in span.links),
                    span.start_time_unix_nano / 1e9,
                    span.end_time_unix_nano / 1e9,
                )


def _values(attributes: Any) -> dict[str, Any]:
    return {attribute.key: getattr(attribute.value, attribute.value.WhichOneof("value")) for attribute in attributes}
