"""Liveness and readiness checks."""

from fastapi import Request, Response

from api.routes import probes
from api.routing import Router

router = Router(tags=["health"])


@router.get("/health")
async def health() -> dict[str, str]:
    """Liveness: 200 whenever this process answers."""
    return {"status": "ok"}


@router.get("/ready")
async def ready(request: Request, response: Response) -> dict[str, str]:
    """Readiness: 200 if this process reaches its database, broker and blob store, its clock is the database's, and the
    tables are those of its version; 503 names what is wrong."""
    return await probes.readyz(request, response)
