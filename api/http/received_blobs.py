"""Uploaded files on their way into the blob store; what is refused is deleted."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from api.http.dependencies import utc_now
from api.http.request_bodies import content_length
from scorer import clamd
from scorer.archive.decoder_pool import processes_of
from scorer.blobs import Blobs, ReceivedBlob
from scorer.errors import Invalid, KennelError
from scorer.settings import Settings

Answer = TypeVar("Answer")


FORM_MEDIA_TYPES = ("multipart/form-data", "application/x-www-form-urlencoded")


def declared_bytes(request: Request) -> int | None:
    """The request's Content-Length, if it has one; ``Invalid`` for a form: the body must be the zip itself."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() in FORM_MEDIA_TYPES:
        raise Invalid(
            "not-a-form",
            "Send the zip itself as the body, not a form: curl -X POST -T entry.zip URL",
        )
    return content_length(request.scope)


def require_clean(store: Blobs, received: ReceivedBlob, settings: Settings) -> None:
    """``Invalid`` if the operator's scanner finds malware in a received file, ``Unavailable`` if it cannot be asked."""
    if settings.clamd is not None:
        with store.open(received.key) as file:
            clamd.require_clean(settings.clamd, file)


async def receive_blob(
    store: Blobs,
    key: str,
    chunks: AsyncIterator[bytes],
    *,
    limit: int,
    accept: Callable[[ReceivedBlob, datetime], tuple[Answer, str | None]],
) -> Answer:
    """Stream a blob into the store and call ``accept`` with it in a thread.

    ``accept`` gets the received blob and the time, records it in a transaction of its own, and returns the answer with
    the key of a blob that is no longer needed, or None; that blob is deleted. If it refuses with a ``KennelError``, the
    received one is. After any other error the row may be there: the acknowledgement of its commit may be what was lost.
    A blob that no row refers to is deleted by the cleanup of orphans.
    """
    received = await store.receive(key, chunks, limit=limit)

    def keep(complete: datetime) -> Answer:
        try:
            answer, unused = accept(received, complete)
        except KennelError:
            store.discard([received.key])
            raise
        if unused is not None:
            store.discard([unused])
        return answer

    return await run_in_threadpool(keep, utc_now())


def reads_limited(settings: Settings) -> bool:
    """Whether limited processes read what is uploaded: this process only hands them the bytes."""
    return processes_of(settings.decoding_processes) > 0


def unused_key_of(received: ReceivedBlob, kept_key: str | None) -> str | None:
    """The key of the received blob, unless it is the recorded one: an earlier blob may have had the same bytes."""
    return received.key if received.key != kept_key else None
