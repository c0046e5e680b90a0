"""Receives uploaded files into the blob store and deletes refused ones."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from api.http.dependencies import utc_now
from api.http.request_bodies import content_length
from scorer import clamd
from scorer.archive.decoder_pool import choose_process_count
from scorer.blobs import Blobs, ReceivedBlob
from scorer.errors import Invalid, KennelError
from scorer.settings import Settings

Answer = TypeVar("Answer")


FORM_MEDIA_TYPES = ("multipart/form-data", "application/x-www-form-urlencoded")


def declared_bytes(request: Request) -> int | None:
    """The request's Content-Length or None; ``Invalid`` for a form, because the body must be the file itself."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() in FORM_MEDIA_TYPES:
        raise Invalid(
            "not-a-form",
            "The body is a form. Send the file itself as the body: curl -X POST -T FILE URL",
        )
    return content_length(request.scope)


def require_clean(store: Blobs, received: ReceivedBlob, settings: Settings) -> None:
    """``Invalid`` if the operator's scanner finds malware in a received file, ``Unavailable`` if the scanner does not
    respond."""
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

    ``accept`` gets the received blob and the time, records it in its own transaction, and returns the answer and the
    key of a blob to delete, or None. If ``accept`` raises a ``KennelError``, the received blob is deleted. After any
    other error the commit may have succeeded, so the blob stays; the cleanup of orphans deletes blobs without a row.
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
    """Whether separate, limited processes decode uploads."""
    return choose_process_count(settings.decoding_processes) > 0


def find_unused_key(received: ReceivedBlob, recorded_key: str | None) -> str | None:
    """The key of the received blob if it was not recorded because an earlier blob has the same bytes, else None."""
    return received.key if received.key != recorded_key else None
