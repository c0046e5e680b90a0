"""Limits on request bodies: size, duration, and number in progress.

They apply before anything reads a body, to all content types and senders. Routes that stream a file to the store use
:func:`streamed_body`, which has no size limit: they have their own.
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from urllib.parse import unquote

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.http.problem_details import problem
from api.http.rate_limits import find_network
from scorer.errors import Invalid

MAX_BODY_BYTES = 1 << 20
"""For a body that is read into memory."""
MAX_BODY_SECONDS = 60.0
"""For a complete body that is read into memory."""
IDLE_SECONDS = 60.0
"""A streamed body ends after this time without a byte; tus clients resume with another request."""
MAX_BODIES_PER_CLIENT = 32
"""Bodies other than files that one network address may send to this process at the same time."""
MAX_FILES_PER_ACCOUNT = 8
"""Files that one account may send to this process at the same time."""
MAX_FILE_BYTES_PER_ACCOUNT = 4 << 30
"""For the files that one account sends to this process at the same time, from their announced lengths. A single file
may be larger: its route has a limit."""
MAX_WAITING_BYTES = 8 << 20
"""For all bodies together that are being read into memory."""
SCOPE_KEY = "kennel.body"
IS_JSON = re.compile(r"application/([^;\s]+\+)?json\b", re.IGNORECASE)
"""Content types that FastAPI reads as JSON."""
MAYBE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
"""A surrogate, escaped or encoded; two escaped surrogates may be a pair."""


class RefusedBody(HTTPException):
    """A body that is too large or too slow, or is one body too many; ``slug`` names the problem for programs.

    It is an ``HTTPException`` because FastAPI answers all other errors while reading a body with 400.
    """

    def __init__(self, status: int, slug: str, title: str) -> None:
        super().__init__(status, title, {"Connection": "close"})
        self.slug = slug

    def as_problem(self) -> JSONResponse:
        return problem(self.status_code, self.slug, self.detail, headers=self.headers)


class RequestBodies:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._senders: Counter[Hashable] = Counter()
        self._file_bytes: Counter[int] = Counter()
        self._waiting_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = scope[SCOPE_KEY] = _Body(self, receive, scope)
        try:
            await self._app(scope, body.receive, send)
        finally:
            body.end()
            body.end_file()

    def begin(self, sender: Hashable, limit: int) -> None:
        """Count a body that an address or account starts to send; ``RefusedBody`` if it exceeds the limit."""
        if self._senders[sender] >= limit:
            title = f"You are already sending {limit} requests. Wait until one ends."
            raise RefusedBody(429, "too-many-bodies", title)
        self._senders[sender] += 1

    def end(self, sender: Hashable) -> None:
        self._senders[sender] -= 1
        if not self._senders[sender]:
            del self._senders[sender]

    def add_file_bytes(self, account_id: int, held: int, count: int) -> None:
        """Count ``count`` more bytes of an account's file, after the ``held`` bytes counted before. ``RefusedBody`` if
        it exceeds the limit together with the account's other files."""
        others = self._file_bytes[account_id] - held
        if others and others + held + count > MAX_FILE_BYTES_PER_ACCOUNT:
            title = (
                f"The files you are sending exceed {MAX_FILE_BYTES_PER_ACCOUNT:,} bytes in total. Wait until one ends."
            )
            raise RefusedBody(429, "too-many-file-bytes", title)
        self._file_bytes[account_id] += count

    def end_file(self, account_id: int, held: int) -> None:
        """Stop counting a file that is stored or refused."""
        self._file_bytes[account_id] -= held
        if not self._file_bytes[account_id]:
            del self._file_bytes[account_id]

    def hold(self, count: int) -> None:
        """Count bytes in memory that wait for the rest of their body; ``RefusedBody`` above the limit for all
        bodies."""
        if self._waiting_bytes + count > MAX_WAITING_BYTES:
            raise RefusedBody(503, "busy", "The service is receiving too many requests. Try again in a few seconds.")
        self._waiting_bytes += count

    def release(self, count: int) -> None:
        self._waiting_bytes -= count


class _Body:
    def __init__(self, bodies: RequestBodies, receive: Receive, scope: Scope) -> None:
        client = scope.get("client")
        self._bodies = bodies
        self._receive = receive
        self._scope = scope
        self._client = find_network(client[0]) if client else ""
        self._senders: list[Hashable] = []
        self._account_id: int | None = None
        self._file_bytes = 0
        self._arrived = 0
        self._bytes = 0
        self._deadline: float | None = None
        self._is_over = False

    async def receive(self) -> Message:
        """The next message. After the end of the body, it waits for the end of the request without a limit."""
        if self._is_over:
            return await self._receive()
        now = asyncio.get_running_loop().time()
        if self._deadline is None:
            if not self.is_streamed:  # files count by account because many people may share an address
                self._begin(("address", self._client), MAX_BODIES_PER_CLIENT)
            self._deadline = now + MAX_BODY_SECONDS
            self._require_size(content_length(self._scope) or 0)
        message = await self._next(now + IDLE_SECONDS if self.is_streamed else self._deadline)
        size = len(message.get("body", b""))
        if self._account_id is None:
            self._count(size)
        else:
            self._count_file(self._account_id, size)
        if not message.get("more_body", False):
            self.end()
        return message

    def stream_from(self, account_id: int) -> None:
        self._begin(("account", account_id), MAX_FILES_PER_ACCOUNT)
        self._add_file_bytes(account_id, content_length(self._scope) or 0)
        self._account_id = account_id

    @property
    def is_streamed(self) -> bool:
        return self._account_id is not None

    def _begin(self, sender: Hashable, limit: int) -> None:
        self._bodies.begin(sender, limit)
        self._senders.append(sender)

    async def _next(self, deadline: float) -> Message:
        try:
            async with asyncio.timeout_at(deadline):
                return await self._receive()
        except TimeoutError:
            limit = f"for {IDLE_SECONDS:.0f} s" if self.is_streamed else f"within {MAX_BODY_SECONDS:.0f} s"
            problem = "No data arrived" if self.is_streamed else "The request was not complete"
            raise RefusedBody(408, "too-slow", f"{problem} {limit}. Send the request again.") from None

    def _count(self, count: int) -> None:
        self._require_size(self._bytes + count)
        self._bodies.hold(count)
        self._bytes += count

    def _count_file(self, account_id: int, count: int) -> None:
        self._arrived += count
        if self._arrived > self._file_bytes:  # its length was not announced
            self._add_file_bytes(account_id, self._arrived - self._file_bytes)

    def _add_file_bytes(self, account_id: int, count: int) -> None:
        self._bodies.add_file_bytes(account_id, self._file_bytes, count)
        self._file_bytes += count

    def _require_size(self, size: int) -> None:
        if size > MAX_BODY_BYTES and not self.is_streamed:
            title = f"The body of the request is too large. The limit is {MAX_BODY_BYTES:,} bytes."
            raise RefusedBody(413, "too-large", title)

    def end(self) -> None:
        """The body is complete, or nobody reads the rest."""
        if not self._is_over:
            for sender in self._senders:
                self._bodies.end(sender)
            self._bodies.release(self._bytes)
        self._is_over = True

    def end_file(self) -> None:
        """Call it at the end of the request: the stored file now counts for the quotas or is deleted."""
        if self._account_id is not None:
            self._bodies.end_file(self._account_id, self._file_bytes)
            self._account_id = None


def content_length(scope: Scope) -> int | None:
    """None without a valid ``Content-Length``."""
    declared = dict(scope["headers"]).get(b"content-length", b"")
    return int(declared) if declared.isdigit() else None


def streamed_body(request: Request, account_id: int) -> AsyncIterator[bytes]:
    """An account's body as it arrives, without a size limit: the route has one. ``RefusedBody`` after ``IDLE_SECONDS``
    without a byte, and for too many files or bytes at the same time."""
    request.scope[SCOPE_KEY].stream_from(account_id)
    return request.stream()


async def refuse_nul(request: Request) -> None:
    """``Invalid`` for a NUL character in the address or a JSON body, which PostgreSQL cannot store, and for half a
    surrogate pair in a JSON body, which has no encoding. JSON in UTF-16 or UTF-32 also has NUL bytes."""
    address = request.scope["path"] + unquote(request.scope["query_string"].decode("latin-1"))
    is_json = IS_JSON.match(request.headers.get("content-type", "")) is not None
    body = await request.body() if is_json else b""
    if "\x00" in address or b"\x00" in body or b"\\u0000" in body:
        raise Invalid("nul-character", "The request contains a NUL character. Remove it.")
    if MAYBE_SURROGATE.search(body) and _has_lone_surrogate(body):
        raise Invalid(
            "lone-surrogate", "The request contains half a surrogate pair, which is not a character. Remove it."
        )


def _has_lone_surrogate(body: bytes) -> bool:
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):  # the route reports invalid JSON
        return False
    return False
