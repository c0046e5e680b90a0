"""Liveness, readiness and metrics of a web process, outside the API. Liveness and readiness are also in the API."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from threading import Thread
from typing import Any

from fastapi import Request, Response, status
from fastapi.responses import PlainTextResponse
from starlette.datastructures import State

import migrations
from api.http.dependencies import utc_now
from api.http.routing import ApiRouter, Router
from api.openapi.problem_responses import refusals
from scorer.db.session import require_right_clock, require_writable
from scorer.errors import KennelError, NotFound, Unauthenticated
from scorer.jobs.broker import require_writable_broker
from scorer.monitoring.exposition import CONTENT_TYPE, is_authorised, metrics_text
from scorer.settings import Settings

KEPT_SECONDS = 2.0
"""How long outcomes are cached, because anybody may ask."""
Check = Callable[[], object]


class Readiness:
    """The outcomes of checks by name.

    An outcome is ``ok``, the message of a :class:`KennelError`, the type of any other error, or ``NoAnswer`` after
    ``limit`` seconds. Concurrent requests share the outcomes. Each check has its own thread, and does not start again
    before the thread ends.
    """

    def __init__(self, checks: Mapping[str, Check], limit: float) -> None:
        self._checks = checks
        self._limit = limit
        self._running: dict[str, Future[str]] = {}
        self._reading: asyncio.Future[None] | None = None
        self._outcomes: Mapping[str, str] = {}
        self._read_at = -KEPT_SECONDS

    async def get(self) -> Mapping[str, str]:
        """The cached outcomes, or new ones if they are too old."""
        if time.monotonic() - self._read_at >= KEPT_SECONDS:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.get_running_loop().run_in_executor(None, self._read)
            await asyncio.shield(self._reading)
        return self._outcomes

    def _read(self) -> None:
        running = {name: self._running.get(name) or _started(check) for name, check in self._checks.items()}
        wait(running.values(), self._limit)
        self._outcomes = {name: future.result() if future.done() else "NoAnswer" for name, future in running.items()}
        self._running = {name: future for name, future in running.items() if not future.done()}
        self._read_at = time.monotonic()


def build_readiness(state: State) -> Readiness:
    """The checks of everything that a web process needs."""
    checks: Mapping[str, Check] = {
        "database": lambda: require_writable(state.sessions),
        "clock": lambda: require_right_clock(state.sessions, utc_now),
        "migrations": lambda: _require_migrated(state),
        "broker": lambda: require_writable_broker(state.broker),
        "blobs": state.blobs.require_usable,
    }
    return Readiness(checks, state.settings.readiness_seconds)


def _require_migrated(state: State) -> None:
    with state.sessions() as session:
        migrations.require_migrated(session.connection())


def _started(check: Check) -> Future[str]:
    outcome: Future[str] = Future()
    # A daemon thread, because the end of the process must not wait for a dependency that does not respond.
    Thread(target=lambda: outcome.set_result(_run_check(check)), name="readiness", daemon=True).start()
    return outcome


def _run_check(check: Check) -> str:
    try:
        check()
    except KennelError as error:
        return error.message
    except Exception as error:  # noqa: BLE001 - any error means not ready
        return type(error).__name__
    return "ok"


router = ApiRouter(tags=["health"])
probes = Router(tags=["health"])


@probes.get("/healthz")
async def healthz() -> dict[str, str]:
    """Check liveness. The response is always 200."""
    return {"status": "ok"}


@probes.get("/readyz")
async def readyz(request: Request, response: Response) -> dict[str, str]:
    """Check readiness. The response is 200 if the database, clock, tables, broker and blob store are usable. Otherwise,
    it is 503 and names the problems. Results are cached for 2 seconds. A response takes at most
    `KENNEL_READINESS_SECONDS`, even if a dependency does not respond."""
    readiness: Readiness = request.app.state.readiness
    answer = dict(await readiness.get())
    if set(answer.values()) != {"ok"}:
        response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    return answer


@probes.get("/metrics", response_class=PlainTextResponse, responses=refusals(401, 404))
def metrics(request: Request) -> Response:
    """Get the metrics for Prometheus. Requires the operator's `KENNEL_METRICS_TOKEN` as a bearer token."""
    state: Any = request.app.state
    settings: Settings = state.settings
    if settings.metrics_token is None:
        raise NotFound("no-metrics", "Metrics are off. To turn them on, set KENNEL_METRICS_TOKEN.")
    if not is_authorised(request.headers.get("authorization", ""), settings.metrics_token.get_secret_value()):
        raise Unauthenticated("no-token", "To get the metrics, send KENNEL_METRICS_TOKEN as a bearer token.")
    return Response(metrics_text(state.queue_metrics), media_type=CONTENT_TYPE)


@router.get("/health")
async def health() -> dict[str, str]:
    """Check liveness, like `/healthz`. The response is always 200."""
    return {"status": "ok"}


@router.get("/ready")
async def ready(request: Request, response: Response) -> dict[str, str]:
    """Check readiness, like `/readyz`. The response is 200 if the process is ready. Otherwise, it is 503 and names the
    problems."""
    return await readyz(request, response)
