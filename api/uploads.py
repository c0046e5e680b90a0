"""Receiving zips: what the headers say, and nothing left behind when they are refused."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from api.deps import Transaction, now
from scorer import submissions
from scorer.archive import list_images
from scorer.blobs import Blobs, Received
from scorer.competitions import State
from scorer.db.tables import Account, Submission
from scorer.errors import Invalid
from scorer.public_ids import new_public_id
from scorer.submissions import Entry

Seen = TypeVar("Seen")

FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


def declared_bytes(request: Request) -> int | None:
    """What Content-Length promises, if it does; ``Invalid`` for a form: the body must be the zip itself."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() in FORMS:
        raise Invalid(
            "not-a-form",
            "Send the zip itself as the body, not a form: curl -X POST -T entry.zip URL",
        )
    declared = request.headers.get("content-length", "")
    return int(declared) if declared.isdecimal() else None


@contextmanager
def discarded_on_error(store: Blobs, received: Received) -> Iterator[None]:
    """Delete the received blob if it is refused after all."""
    try:
        yield
    except BaseException:
        store.delete(received.key)
        raise


@dataclass(frozen=True)
class Counter:
    """Where whole zips are handed in: one request, one submission."""

    begin: Transaction
    store: Blobs
    max_bytes: int

    async def hand_in(
        self,
        slug: str,
        entry: Entry,
        account: Account,
        chunks: AsyncIterator[bytes],
        *,
        declared: int | None,
        look: Callable[[Session, Submission], Seen],
    ) -> Seen:
        """Stream a zip into the store and make a submission of it; ``look`` tells what the answer needs of it.
        Refused as early as possible, and then nothing is left."""
        begun, new_id = now(), new_public_id()

        def admit() -> State:
            most = self.max_bytes
            with self.begin() as session:
                return submissions.admit(
                    session, slug, entry, account, declared_bytes=declared, max_bytes=most, now=begun
                )

        state = await run_in_threadpool(admit)
        limit = submissions.upload_limit(state, self.max_bytes)
        received = await self.store.receive(f"submissions/{new_id}.zip", chunks, limit=limit)
        complete = now()

        def accept() -> Seen:
            with discarded_on_error(self.store, received):
                with self.store.open(received.key) as file:
                    list_images(file, state.image_spec)
                with self.begin() as session:
                    kept = submissions.accept(
                        session, slug, entry, account, received, public_id=new_id, now=complete, begun=begun
                    )
                    seen = look(session, kept)
            if kept.blob_key != received.key:
                self.store.delete(received.key)
            return seen

        return await run_in_threadpool(accept)
