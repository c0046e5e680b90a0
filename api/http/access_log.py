"""Gives every request an id, a log line and metrics. Plain ASGI around the whole application.

Logged addresses show no secrets from query parameters, such as the code of an OpenID Connect issuer.
"""

import logging
import re
import secrets
from collections.abc import Mapping, MutableMapping
from time import perf_counter
from typing import Any
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.client_address import PROXIED_PORT
from scorer.monitoring import logs
from scorer.monitoring.instruments import HTTP_REQUEST_SECONDS, HTTP_REQUESTS

SECRET_PARAMETER = re.compile(
    r"(?P<before>[?&](?:invitation|code|state|token|secret|signature)=)[^/?&\s]+", re.IGNORECASE
)
REDACTED = "***"


def redact(address: str) -> str:
    """Replace each secret in a path with query by ``***``."""
    return SECRET_PARAMETER.sub(rf"\g<before>{REDACTED}", address)


def has_secret_address(scope: MutableMapping[str, Any]) -> bool:
    """Whether the address of an ASGI request contains a secret. Spans record addresses, so they skip such requests."""
    address = f"{scope['path']}?{scope.get('query_string', b'').decode('latin-1')}"
    return redact(address) != address


HEADER = b"x-request-id"
VALID_ID = re.compile(r"[A-Za-z0-9._:-]{8,128}")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
CLIENT_GONE = 499
"""nginx's status for a client that disconnects before the response begins."""
API_PREFIX = "/api/v1"

log = logging.getLogger("kennel.access")


class AccessLog:
    """Gives each request of ``app`` an id: the response's ``X-Request-ID``, which is also in all its log records.
    Logs one line and counts the request when it ends."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        record = logs.begin_request(choose_request_id(scope))
        client = scope.get("client")
        header = (HEADER, record.id.encode())
        status = CLIENT_GONE

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), header]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        finally:
            seconds = perf_counter() - started
            _count(scope, status, seconds)
            _log(scope, client, status, seconds=seconds, fields=record.fields)


def choose_request_id(scope: Mapping[str, Any]) -> str:
    """The id that a trusted proxy sent, otherwise a new one: other clients can send any value."""
    client = scope.get("client")
    if client and client[1] == PROXIED_PORT:
        for name, value in scope["headers"]:
            if name == HEADER:
                claimed = value.decode("latin-1")
                if VALID_ID.fullmatch(claimed):
                    return str(claimed)
    return secrets.token_hex(8)


def _count(scope: Scope, status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path_format", "none")
    method = scope["method"] if scope["method"] in METHODS else "other"
    HTTP_REQUESTS.labels(method, route, status).inc()
    HTTP_REQUEST_SECONDS.labels(route).observe(seconds)


def _log(scope: Scope, client: Any, status: int, *, seconds: float, fields: Mapping[str, Any]) -> None:
    level = logging.WARNING if status >= 500 else logging.INFO
    if not log.isEnabledFor(level):
        return
    address = quote(scope["path"])
    if scope["query_string"]:
        address = f"{address}?{scope['query_string'].decode('latin-1')}"
    line = {
        "method": scope["method"],
        "path": redact(address),
        "status": status,
        "milliseconds": round(1000 * seconds, 1),
        "client": client[0] if client else None,
    }
    log.log(level, "request", extra={**line, **fields})
