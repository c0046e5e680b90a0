"""What a platform asks a web process: whether it lives, whether it is ready, and its metrics. Outside of the API, and
the first two also below it."""

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
"""For how long a reading is answered again: anybody may ask."""
Check = Callable[[], object]


class Readiness:
    """The outcomes of checks, by name: ``ok``, the message of a :class:`KennelError`, the kind of any other error, or
    ``NoAnswer`` where a check takes longer than ``limit`` seconds. Requests that come at once share one reading. Each
    check has a thread of its own, which ends whenever the dependency answers or gives up; until then it is not asked
    again."""

    def __init__(self, checks: Mapping[str, Check], limit: float) -> None:
        self._checks = checks
        self._limit = limit
        self._running: dict[str, Future[str]] = {}
        self._reading: asyncio.Future[None] | None = None
        self._outcomes: Mapping[str, str] = {}
        self._read_at = -KEPT_SECONDS

    async def get(self) -> Mapping[str, str]:
        """The newest outcomes, which are read first if they are too old."""
        if time.monotonic() - self._read_at >= KEPT_SECONDS:
            if self._reading is None or self._reading.done():
                self._reading = asyncio.get_running_loop().run_in_executor(None, self._read)
            await asyncio.shield(self._reading)
        return self._outcomes

    def _read(self) -> None:
        running = {name: self._running.get(name) or _started(check) for name, check in self._checks.items()}
        wait(running.values(), self._limit)
        self._outcomes = {name: each.result() if each.done() else "NoAnswer" for name, each in running.items()}
        self._running = {name: each for name, each in running.items() if not each.done()}
        self._read_at = time.monotonic()


def readiness_of(state: State) -> Readiness:
    """What a web process needs to answer requests."""
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
    # A daemon: a process that ends does not wait for a silent dependency.
    Thread(target=lambda: outcome.set_result(_outcome_of(check)), name="readiness", daemon=True).start()
    return outcome


def _outcome_of(check: Check) -> str:
    try:
        check()
    except KennelError as error:
        return error.message
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not ready
        return type(error).__name__
    return "ok"


router = ApiRouter(tags=["health"])
probes = Router(tags=["health"])


@probes.get("/healthz")
async def healthz() -> dict[str, str]:
    """Whether the process lives: 200 whenever it answers."""
    return {"status": "ok"}


@probes.get("/readyz")
async def readyz(request: Request, response: Response) -> dict[str, str]:
    """Whether the process can do its work: 200 if database, clock, tables, broker and blob store are as they should
    be, else 503, which names what is wrong. Looks every two seconds at most, and answers within
    ``KENNEL_READINESS_SECONDS`` while one of them is silent."""
    readiness: Readiness = request.app.state.readiness
    answer = dict(await readiness.get())
    if set(answer.values()) != {"ok"}:
        response.status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    return answer


@probes.get("/metrics", response_class=PlainTextResponse, responses=refusals(401, 404))
def metrics(request: Request) -> Response:
    """The metrics for Prometheus, for whoever bears the operator's ``KENNEL_METRICS_TOKEN``."""
    state: Any = request.app.state
    settings: Settings = state.settings
    if settings.metrics_token is None:
        raise NotFound("no-metrics", "This service offers no metrics: its operator has set no KENNEL_METRICS_TOKEN.")
    if not is_authorised(request.headers.get("authorization", ""), settings.metrics_token.get_secret_value()):
        raise Unauthenticated("no-token", "Metrics are for the operator: bear KENNEL_METRICS_TOKEN.")
    return Response(metrics_text(state.queue_metrics), media_type=CONTENT_TYPE)


@router.get("/health")
async def health() -> dict[str, str]:
    """Liveness: 200 whenever this process answers."""
    return {"status": "ok"}


@router.get("/ready")
async def ready(request: Request, response: Response) -> dict[str, str]:
    """Readiness: 200 if this process reaches its database, broker and blob store, its clock is the database's, and the
    tables are those of its version; 503 names what is wrong."""
    return await readyz(request, response)
