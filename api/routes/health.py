"""Liveness and readiness checks."""

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from api.http.dependencies import utc_now
from api.routes.probes import outcome_of
from api.routing import Router
from scorer.db.session import ping, require_right_clock

router = Router(tags=["health"])


@router.get("/health")
async def health() -> dict[str, str]:
    """Liveness: 200 whenever this process answers."""
    return {"status": "ok"}


@router.get("/ready")
async def ready(request: Request, response: Response) -> dict[str, str]:
    """Readiness: 200 if this process reaches its database and its broker, and its clock is the database's; 503
    names what is wrong."""
    state = request.app.state
    checks = {
        "database": lambda: ping(state.sessions),
        "clock": lambda: require_right_clock(state.sessions, utc_now),
        "broker": lambda: state.broker.connection().ensure_connection(max_retries=1, timeout=2).release(),
    }
    answer = {name: await run_in_threadpool(outcome_of, check) for name, check in checks.items()}
    if set(answer.values()) != {"ok"}:
        response.status_code = 503
    return answer
