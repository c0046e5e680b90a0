"""Receiving zips: what the headers say, and nothing left behind when they are refused."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from api.http.dependencies import Transaction, utc_now
from scorer.archive import list_images
from scorer.blobs import Blobs, ReceivedBlob
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account, Submission
from scorer.errors import Invalid
from scorer.identifiers import new_public_id
from scorer.submissions import intake
from scorer.submissions.intake import NewSubmission

Seen = TypeVar("Seen")
Answer = TypeVar("Answer")

FORM_MEDIA_TYPES = ("multipart/form-data", "application/x-www-form-urlencoded")


def declared_bytes(request: Request) -> int | None:
    """What Content-Length promises, if it does; ``Invalid`` for a form: the body must be the zip itself."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() in FORM_MEDIA_TYPES:
        raise Invalid(
            "not-a-form",
            "Send the zip itself as the body, not a form: curl -X POST -T entry.zip URL",
        )
    declared = request.headers.get("content-length", "")
    return int(declared) if declared.isdecimal() else None


@contextmanager
def discard_on_error(store: Blobs, received: ReceivedBlob) -> Iterator[None]:
    """Delete the received blob if it is refused after all."""
    try:
        yield
    except BaseException:
        store.delete(received.key)
        raise


async def receive_blob(
    store: Blobs,
    key: str,
    chunks: AsyncIterator[bytes],
    *,
    limit: int,
    accept: Callable[[ReceivedBlob, datetime], tuple[Answer, str | None]],
) -> Answer:
    """Stream a blob into the store and, in a thread, have it accepted.

    ``accept`` looks at what has arrived (and when), keeps it in a transaction of its own, and returns the answer with
    the key of a blob that nothing needs any more, if there is one: that is deleted. Where it raises, what has arrived
    is deleted.
    """
    received = await store.receive(key, chunks, limit=limit)

    def keep(complete: datetime) -> Answer:
        with discard_on_error(store, received):
            answer, unused = accept(received, complete)
        if unused is not None:
            store.delete(unused)
        return answer

    return await run_in_threadpool(keep, utc_now())


def unused_key_of(received: ReceivedBlob, kept_key: str | None) -> str | None:
    """The key of what has arrived, unless it is what is kept: the same bytes may have been there already."""
    return received.key if received.key != kept_key else None


@dataclass(frozen=True)
class ZipUpload:
    """Where whole zips are handed in: one request, one submission."""

    begin: Transaction
    store: Blobs
    max_bytes: int

    async def hand_in(
        self,
        slug: str,
        entry: NewSubmission,
        account: Account,
        chunks: AsyncIterator[bytes],
        *,
        declared: int | None,
        look: Callable[[Session, Submission], Seen],
    ) -> Seen:
        """Stream a zip into the store and make a submission of it; ``look`` tells what the answer needs of it.
        Refused as early as possible, and then nothing is left."""
        begun, new_id = utc_now(), new_public_id()

        def admit() -> CompetitionState:
            most = self.max_bytes
            with self.begin() as session:
                return intake.admit(session, slug, entry, account, declared_bytes=declared, max_bytes=most, now=begun)

        state = await run_in_threadpool(admit)
        limit = intake.upload_limit(state, self.max_bytes)

        def accept(received: ReceivedBlob, complete: datetime) -> tuple[Seen, str | None]:
            with self.store.open(received.key) as file:
                list_images(file, state.image_spec)
            with self.begin() as session:
                kept = intake.accept(
                    session, slug, entry, account, received, public_id=new_id, now=complete, begun=begun
                )
                return look(session, kept), unused_key_of(received, kept.blob_key)

        return await receive_blob(self.store, f"submissions/{new_id}.zip", chunks, limit=limit, accept=accept)
