"""The discovery document and keys of an OpenID Connect issuer.

They are read over HTTPS, with a size limit, and once for many logins: anybody may begin a login, so it must be cheap
for the service and for the issuer."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

from authlib.integrations.httpx_client import AsyncOAuth2Client
from httpx2 import AsyncByteStream, RemoteProtocolError, Response
from joserfc.jwk import KeySet

from scorer.accounts.oidc_identities import is_issuer
from scorer.settings import is_https_or_loopback

KEPT_SECONDS = 600.0
"""How long a document is cached. Keys are read again earlier if a token names an unknown key."""
MAX_ANSWER_BYTES = 256 << 10
"""Typical documents and tokens have a few thousand bytes."""
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class _CachedValue(NamedTuple):
    value: Any
    read_at: float


class IssuerMetadata:
    """The cached documents of issuers by address. While one login reads a document, the others wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._cache: dict[str, _CachedValue] = {}
        self._lock = asyncio.Lock()

    async def discovery(self, client: AsyncOAuth2Client, issuer: str) -> dict[str, Any]:
        """The discovery document; ``ValueError`` if it belongs to another issuer or has an endpoint without TLS."""

        def checked(document: dict[str, Any]) -> dict[str, Any]:
            if not is_issuer(document["issuer"], issuer):
                raise ValueError(
                    f"its document names the issuer {document['issuer']}: set KENNEL_OIDC_ISSUER to that value"
                )
            for name in ENDPOINTS:
                if not is_https_or_loopback(document[name]):
                    raise ValueError(f"its {name} does not use TLS: {document[name]}")
            return document

        document: dict[str, Any] = await self._read(client, f"{issuer}/.well-known/openid-configuration", checked)
        return document

    async def keys(self, client: AsyncOAuth2Client, address: str, *, other_than: KeySet | None = None) -> KeySet:
        """The keys at ``address``. If the cached keys are ``other_than``, which lack a key, reads them again."""

        def key_set(document: dict[str, Any]) -> KeySet:
            return KeySet.import_key_set({"keys": document["keys"]})

        keys: KeySet = await self._read(client, address, key_set, other_than=other_than)
        return keys

    async def _read(
        self,
        client: AsyncOAuth2Client,
        address: str,
        parse: Callable[[dict[str, Any]], Any],
        *,
        other_than: object = None,
    ) -> Any:
        if cached := self._find(address, other_than):
            return cached.value
        async with self._lock:
            if cached := self._find(address, other_than):
                return cached.value
            read_at = self._clock()
            answer = await client.request("GET", address, withhold_token=True)
            answer.raise_for_status()
            self._cache[address] = _CachedValue(parse(answer.json()), read_at)
            return self._cache[address].value

    def _find(self, address: str, other_than: object) -> _CachedValue | None:
        cached = self._cache.get(address)
        if cached is None or cached.value is other_than or self._clock() - cached.read_at >= KEPT_SECONDS:
            return None
        return cached


class _BoundedStream(AsyncByteStream):
    """A body that fails after ``MAX_ANSWER_BYTES``."""

    def __init__(self, stream: AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if size > MAX_ANSWER_BYTES:
                raise RemoteProtocolError("the issuer's response is too large")
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


async def bound_answer(answer: Response) -> None:
    """Limit the size of a response before the client reads it. Compressed responses, which nobody requested, are
    refused: they can unpack to any size."""
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise RemoteProtocolError("the issuer's response is compressed")
    if isinstance(answer.stream, AsyncByteStream):
        answer.stream = _BoundedStream(answer.stream)
