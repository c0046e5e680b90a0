"""Security headers: of every answer, of pages and of files. Plain ASGI adds them, around the whole application.

A page's own stricter or wider headers stay.
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
"""Of answers of the API that say nothing else."""
HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")
"""A year, for this host alone: what else the domain has is its owner's."""
INERT_POLICY = "default-src 'none'; sandbox"
INERT_HEADERS = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": INERT_POLICY}
"""For uploaded files: a browser must not run them as a page or script of this site."""
IMMUTABLE_IMAGE_HEADERS = INERT_HEADERS | {
    "Cache-Control": "private, max-age=31536000, immutable",
    "Vary": "Authorization, Cookie",
}
"""An entry never changes, so its image may be cached for a year; by one browser and for one person only."""
UNSTORED_IMAGE_HEADERS = INERT_HEADERS | {"Cache-Control": "private, no-store"}
"""For images of reviews: no browser and no proxy stores them."""


class SecurityHeaders:
    """Adds to each answer of ``app`` the headers that it lacks; where the service is at an ``https`` address, browsers
    are told to come by no other way."""

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
