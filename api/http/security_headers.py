"""Security headers of all responses, of pages and of files. Plain ASGI around the whole application adds them.

Headers that a response already has stay unchanged.
"""

from collections.abc import Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.access_log import API_PREFIX

DEFAULTS: Sequence[tuple[bytes, bytes]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
PAGE_POLICY = "; ".join(
    (
        "default-src 'none'",
        "style-src 'self'",
        "img-src 'self'",
        "script-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
PAGE_HEADERS = {
    "Content-Security-Policy": PAGE_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOT_STORED = (b"cache-control", b"no-store")
"""For API responses without their own value."""
HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")
"""One year, for this host alone: other hosts of the domain are their owner's decision."""
INERT_POLICY = "default-src 'none'; sandbox"
INERT_HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": INERT_POLICY}
"""For uploaded files: a browser must not run them as a page or script of this site."""
IMMUTABLE_IMAGE_HEADERS = INERT_HEADERS | {
    "Cache-Control": "private, max-age=31536000, immutable",
    "Vary": "Authorization, Cookie",
}
"""An entry never changes, so the viewer's own browser may cache its image for a year. Shared caches may not."""
UNSTORED_IMAGE_HEADERS = INERT_HEADERS | {"Cache-Control": "private, no-store"}
"""For images of reviews, which no browser and no proxy may store."""


class SecurityHeaders:
    """Adds missing headers to each response of ``app``. If the service has an ``https`` address, it also sends
    ``Strict-Transport-Security``."""

    def __init__(self, app: ASGIApp, *, https: bool) -> None:
        self._app = app
        self._everywhere = (*DEFAULTS, HTTPS_ONLY) if https else DEFAULTS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wanted = (*self._everywhere, NOT_STORED) if scope["path"].startswith(API_PREFIX) else self._everywhere

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                names = {name.lower() for name, _ in headers}
                message["headers"] = headers + [header for header in wanted if header[0] not in names]
            await send(message)

        await self._app(scope, receive, send_with_headers)
