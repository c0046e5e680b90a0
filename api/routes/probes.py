"""What a platform asks a web process: whether it lives, whether it is ready, and its metrics."""

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from starlette.datastructures import State

import migrations
from api.http.dependencies import utc_now
from api.openapi.problem_responses import refusals
from api.routing import Router
from scorer.db.session import ping, require_right_clock
from scorer.errors import NotFound, Unauthenticated
from scorer.monitoring.exposition import CONTENT_TYPE, is_authorised, metrics_text
from scorer.monitoring.timed_value import TimedValue
from scorer.settings import Settings

READINESS_SECONDS = 2.0
"""How long a readiness is answered again without a look: anybody may ask."""
ABSENT_BLOB = "self-test/absent"

router = Router(tags=["health"])


def readiness_of(state: State) -> TimedValue[Mapping[str, str]]:
    """What a web process needs to answer requests, by name: ``ok`` or the kind of error."""
    checks: Mapping[str, Callable[[], object]] = {
        "database": lambda: ping(state.sessions),
        "clock": lambda: require_right_clock(state.sessions, utc_now),
        "migrations": lambda: _require_migrated(state),
        "broker": lambda: state.broker.connection().ensure_connection(max_retries=1, timeout=2).release(),
        "blobs": lambda: state.blobs.exists(ABSENT_BLOB),
    }
    return TimedValue(lambda: {name: outcome_of(check) for name, check in checks.items()}, READINESS_SECONDS)


def outcome_of(check: Callable[[], object]) -> str:
    """``ok``, or the kind of error that a check raises."""
    try:
        check()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is not ready
        return type(error).__name__
    return "ok"


def _require_migrated(state: State) -> None:
    with state.sessions() as session:
        migrations.require_migrated(session.connection())


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Whether the process lives: 200 whenever it answers."""
    return {"status": "ok"}


@router.get("/readyz")
def readyz(request: Request, response: Response) -> dict[str, str]:
    """Whether the process can do its work: 200 if database, clock, tables, broker and blob store are as they should
    be, else 503, which names what is wrong. Looks every two seconds at most."""
    readiness: TimedValue[Mapping[str, str]] = request.app.state.readiness
    answer = dict(readiness.get())
    if set(answer.values()) != {"ok"}:
        response.status_code = 503
    return answer


@router.get("/metrics", response_class=PlainTextResponse, responses=refusals(401, 404))
def metrics(request: Request) -> Response:
    """The metrics for Prometheus, for whoever bears the operator's ``KENNEL_METRICS_TOKEN``."""
    state: Any = request.app.state
    settings: Settings = state.settings
    if settings.metrics_token is None:
        raise NotFound("no-metrics", "This service offers no metrics: its operator has set no KENNEL_METRICS_TOKEN.")
    if not is_authorised(request.headers.get("authorization", ""), settings.metrics_token.get_secret_value()):
        raise Unauthenticated("no-token", "Metrics are for the operator: bear KENNEL_METRICS_TOKEN.")
    return Response(metrics_text(state.queue_metrics), media_type=CONTENT_TYPE)
