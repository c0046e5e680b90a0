"""Metrics in Prometheus' text format, and a worker's HTTP server for them."""

import hmac
import logging
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from scorer.errors import Unavailable
from scorer.monitoring import FOLDER_VARIABLE
from scorer.monitoring.instruments import REGISTRY

CONTENT_TYPE = CONTENT_TYPE_LATEST
PATH = "/metrics"

log = logging.getLogger(__name__)


def metrics_folder() -> Path | None:
    """Return the folder in which the processes of this machine share their metrics; None if they do not share them."""
    name = os.environ.get(FOLDER_VARIABLE)
    return Path(name) if name else None


def require_metrics_folder() -> None:
    """``Unavailable`` if the processes of this machine have no folder for common metrics."""
    folder = metrics_folder()
    if folder is None or not folder.is_dir():
        raise Unavailable(
            "no-metrics-folder",
            f"Several processes need a shared folder for their metrics. Set {FOLDER_VARIABLE} to an empty folder.",
        )


def metrics_text(*collectors: Collector) -> bytes:
    """Return the metrics of this process, or of all processes that share its folder, and those of ``collectors``."""
    own: CollectorRegistry = REGISTRY
    folder = metrics_folder()
    if folder is not None:
        _forget_dead_processes(folder)
        own = CollectorRegistry()
        MultiProcessCollector(own, path=str(folder))  # type: ignore[no-untyped-call]
    others = CollectorRegistry()
    for collector in collectors:
        others.register(collector)
    return generate_latest(own) + generate_latest(others)


def is_authorised(header: str, token: str) -> bool:
    return hmac.compare_digest(header.encode(), f"Bearer {token}".encode())


def serve_metrics(port: int, token: str | None) -> int:
    """Serve ``/metrics`` on a port (0: any free port) of all addresses, in a daemon thread; return the port.

    ``token``: the required bearer token; None requires no token.
    """
    server = make_server("", port, _application(token), server_class=ThreadingWSGIServer, handler_class=_SilentHandler)
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server.server_port


class _SilentHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class' name
        log.debug(format, *args)


def _application(token: str | None) -> Callable[..., Iterable[bytes]]:
    def answer(environ: dict[str, Any], start: Callable[..., object]) -> Iterable[bytes]:
        status, body = "200 OK", b""
        if environ["PATH_INFO"] != PATH:
            status = "404 Not Found"
        elif token is not None and not is_authorised(environ.get("HTTP_AUTHORIZATION", ""), token):
            status = "401 Unauthorized"
        else:
            body = metrics_text()
        start(status, [("Content-Type", CONTENT_TYPE), ("Content-Length", str(len(body)))])
        return [body]

    return answer


def _forget_dead_processes(folder: Path) -> None:
    """Remove the gauges of ended processes: killed processes could not do it themselves."""
    for pid in {int(path.stem.rpartition("_")[2]) for path in folder.glob("gauge_live*_*.db")}:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, path=str(folder))  # type: ignore[no-untyped-call]
        except PermissionError:
            continue  # it runs as another user
