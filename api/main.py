"""Builds the FastAPI application: its state, error handlers, JSON routes and pages."""

import gc
import logging
import os
import pkgutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib import import_module
from typing import Any, Final

from anyio import CapacityLimiter
from fastapi import Depends, FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.types import ASGIApp

import api
from api import error_handlers
from api.accounts.oidc.issuer_metadata import IssuerMetadata
from api.health.routes import build_readiness
from api.http import csrf
from api.http.access_log import API_PREFIX, AccessLog, has_secret_address
from api.http.client_address import ClientAddress
from api.http.concurrent_requests import ConcurrentRequests
from api.http.dependencies import utc_now
from api.http.forms import TakenForms
from api.http.rate_limits import RateLimiter
from api.http.request_bodies import RequestBodies, refuse_nul
from api.http.response_cache import ResponseCache
from api.http.routing import Router
from api.http.security_headers import SecurityHeaders
from api.http.server_sent_events import EventHub, closed_by_signals
from api.kaggle import authentication, competitions, submissions
from api.openapi.document import openapi_document
from api.rendering import templates
from scorer.archive.decoder_pool import choose_process_count
from scorer.blobs import open_blobs
from scorer.db.session import (
    BOARD_CONNECTIONS,
    UNAVAILABLE,
    Connections,
    Sessions,
    build_engine,
    build_sessions,
    configure_mappers,
    connected,
    require_connections,
    use_one_snapshot,
)
from scorer.errors import Unavailable
from scorer.evidence.images import StoredImages
from scorer.jobs.broker import create_celery_app, require_single_server
from scorer.jobs.queue_metrics import QueueMetrics
from scorer.leaderboard.board_cache import BoardCache
from scorer.monitoring import FOLDER_VARIABLE
from scorer.monitoring.exposition import metrics_folder
from scorer.monitoring.logs import configure_logging
from scorer.monitoring.traces import configure_traces
from scorer.process_resources import raise_open_files_limit, return_freed_memory
from scorer.product_version import product_version
from scorer.settings import Settings, read_settings, warn_about_unknown_settings
from scorer.submissions import progress

log = logging.getLogger(__name__)

STANDARD_NAMES: Final = {"index": "list", "show": "get"}
MOST_REQUESTED = ("api.leaderboard.routes", "api.competitions.pages")
MAX_JOINS = 4
"""How many uploads are joined at the same time, in separate threads. Joining a gigabyte takes seconds; in the request
threads, uploads could block all other requests."""


class Application(FastAPI):
    """FastAPI with the visitor's address, a log line, an id, metrics and security headers for every request, including
    internal errors, whose responses are made outside all middleware."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = openapi_document(self)
        return self.openapi_schema

    def build_middleware_stack(self) -> ASGIApp:
        """FastAPI's middleware inside the limits on bodies and concurrent requests, the access log, the search for the
        visitor's address, and the security headers."""
        settings: Settings = self.state.settings
        inner = ConcurrentRequests(RequestBodies(TakenForms(super().build_middleware_stack())))
        return SecurityHeaders(ClientAddress(AccessLog(inner)), https=settings.public_url.startswith("https:"))


def served_app() -> FastAPI:
    """The application for a web server, with the settings of the environment. Ends the process with a sentence if
    settings are missing, or if the processes may open more connections than the database allows.

    Permanent objects are created here and excluded from garbage collection. Otherwise, every full collection would
    delay requests by 0.2 to 0.4 s.
    """
    return_freed_memory()
    raise_open_files_limit()
    try:
        settings = read_settings()
        configure_logging(settings.log_level, settings.log_format)
        warn_about_unknown_settings(os.environ)
        _warn_about_separate_metrics(settings)
        configure_traces(settings.traces_endpoint, "kennel-web")
        with suppress(*UNAVAILABLE), connected(settings) as sessions:  # if the database is down, responses report it
            require_connections(sessions, settings)
        require_single_server(settings)
    except Unavailable as error:
        raise SystemExit(error.message) from None
    app = create_app(settings)
    _create_lasting_objects(app)
    gc.collect()
    gc.freeze()
    return app


def _create_lasting_objects(app: FastAPI) -> None:
    """Create the dependencies of routes and the mappers, 90,000 objects that FastAPI and SQLAlchemy would otherwise
    create with the first requests."""
    for _ in iter_route_contexts(app.routes):
        pass
    configure_mappers()


def _warn_about_separate_metrics(settings: Settings) -> None:
    if settings.metrics_token is not None and settings.web_processes > 1 and metrics_folder() is None:
        log.warning("/metrics shows the metrics of only one web process. Set %s to an empty folder.", FOLDER_VARIABLE)


def create_app(settings: Settings) -> FastAPI:
    app = Application(
        title="Kennel",
        version=product_version(),
        summary="A competition scoring service for generative image models.",
        lifespan=_lifespan,
        openapi_url=f"{API_PREFIX}/openapi.json",
        dependencies=[Depends(refuse_nul), Depends(csrf.refuse_cross_site)],
        generate_unique_id_function=operation_id,
        docs_url=None,
        redoc_url=None,
        telemetry={"exclude": has_secret_address},
    )
    set_up_state(app, settings)
    error_handlers.add_error_handlers(app)
    for router in routers():
        app.include_router(router)
    return app


def routers() -> Iterator[Router]:
    """The routers of all modules ``routes`` and ``pages`` in the order of matching: boards first, because they get most
    requests; static files and the kaggle client's interface last."""
    found = [module.name for module in pkgutil.walk_packages(api.__path__, "api.")]
    names = [name for name in found if name.endswith((".routes", ".pages")) and name not in MOST_REQUESTED]
    for name in (*MOST_REQUESTED, *sorted(names)):
        yield from (value for value in vars(import_module(name)).values() if isinstance(value, Router))
    yield templates.router
    for interface in (competitions, submissions, authentication):  # authentication last: it matches unknown methods
        yield interface.router


def set_up_state(app: FastAPI, settings: Settings) -> None:
    board_connections = min(BOARD_CONNECTIONS, settings.web_connections - 1)
    engine = build_engine(settings, max_connections=settings.web_connections - board_connections)
    readers = Connections(settings, max_connections=board_connections)
    app.state.settings = settings
    app.state.engine = engine
    app.state.readers = readers
    app.state.sessions = build_sessions(engine, board_cache=BoardCache(readers))
    app.state.blobs = open_blobs(settings)
    processes = min(1, choose_process_count(settings.decoding_processes))
    app.state.stored_images = StoredImages(app.state.blobs, processes=processes)
    app.state.broker = create_celery_app(settings)
    app.state.rates = RateLimiter(settings)
    app.state.joins = CapacityLimiter(MAX_JOINS)
    app.state.response_cache = ResponseCache()
    app.state.issuer_metadata = IssuerMetadata()
    app.state.queue_metrics = QueueMetrics(app.state.sessions)
    app.state.readiness = build_readiness(app.state)
    app.state.hub = EventHub(_snapshot_reader(app.state.sessions))


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[dict[str, object]]:
    with closed_by_signals(app.state.hub):
        yield {"trusted_proxies": app.state.settings.trusted_proxies}  # for the protocol's limits on connections
    app.state.broker.close()
    app.state.readers.close()
    app.state.engine.dispose()


def _snapshot_reader(sessions: Sessions) -> Callable[[Mapping[int, int]], Mapping[int, progress.StatusSnapshot]]:
    def read_snapshots(seen: Mapping[int, int]) -> Mapping[int, progress.StatusSnapshot]:
        with sessions.begin() as session:
            use_one_snapshot(session)
            return progress.status_snapshots(session, seen, now=utc_now())

    return read_snapshots


def operation_id(route: APIRoute) -> str:
    """``submissions.list``: the folder and name of a route's function. ``_by_link`` is added if a rating link leads to
    the same function."""
    noun = route.endpoint.__module__.split(".")[-2]
    ending = "_by_link" if "/rate/" in route.path_format else ""
    return f"{noun}.{STANDARD_NAMES.get(route.name, route.name)}{ending}"
