"""What a platform asks a web process: whether it lives, whether it is ready, and its metrics. Outside of the API, and
the first two also below it."""

from typing import Any

from fastapi import Request, Response, status
from fastapi.responses import PlainTextResponse

from api.health.readiness import Readiness
from api.http.routing import ApiRouter, Router
from api.openapi.problem_responses import refusals
from scorer.errors import NotFound, Unauthenticated
from scorer.monitoring.exposition import CONTENT_TYPE, is_authorised, metrics_text
from scorer.settings import Settings

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
