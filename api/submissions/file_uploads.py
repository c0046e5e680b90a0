"""Receives an entry's files into the blob store and deletes refused ones. A zip or generator becomes a submission in
the same request; code becomes the entry's attachment.
"""

import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from api.http.dependencies import Transaction, utc_now
from api.http.received_blobs import find_unused_key, reads_limited, receive_blob, require_clean
from api.http.right_clock import require_right_clock
from api.submissions.views import CodeView, code_view
from scorer.acting import Acting
from scorer.blobs import Blobs, ReceivedBlob, require_bytes
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account, Submission, Upload
from scorer.evidence import code_uploads
from scorer.identifiers import new_public_id
from scorer.settings import Settings
from scorer.submissions import intake, upload_bytes, uploads
from scorer.submissions.files import entry_key
from scorer.submissions.intake import NewSubmission
from scorer.submissions.uploads import UploadRequest
from scorer.teams import storage

CODE_MEDIA_TYPES = {"zip": "application/zip", "notebook": "application/x-ipynb+json"}


async def store_code(
    submission_id: str,
    chunks: AsyncIterator[bytes],
    begin: Transaction,
    *,
    store: Blobs,
    account: Account,
    settings: Settings,
    declared: int | None = None,
) -> CodeView:
    """Store a stream as an entry's code. It replaces earlier code."""

    def admit(now: datetime) -> None:
        with begin() as session:
            submission = code_uploads.require_code_change(Acting(session, account, now), submission_id)
            code_uploads.require_room_for_code(Acting(session, account, now), submission, limits, wanted=declared or 0)

    limits = storage.build_upload_limits(settings)
    require_bytes(declared, code_uploads.MAX_CODE_BYTES)
    await run_in_threadpool(admit, utc_now())
    key = f"code/{submission_id}/{secrets.token_hex(8)}"

    def accept(received: ReceivedBlob, now: datetime) -> tuple[CodeView, str | None]:
        require_clean(store, received, settings)
        with store.open(received.key) as file:
            kind = code_uploads.detect_kind(file, limited=reads_limited(settings))
        with begin() as session:
            code, replaced = code_uploads.attach_code(
                Acting(session, account, now), submission_id, received, kind=kind, limits=limits
            )
            return code_view(code), replaced.blob_key if replaced is not None else None

    return await receive_blob(store, key, chunks, limit=code_uploads.MAX_CODE_BYTES, accept=accept)


View = TypeVar("View")


def begin_upload(acting: Acting, slug: str, wanted: UploadRequest, *, settings: Settings) -> Upload:
    require_right_clock(acting.session)
    return uploads.begin(
        acting,
        slug,
        wanted,
        upload_id=secrets.token_urlsafe(16),
        limits=storage.build_upload_limits(settings),
        life=timedelta(seconds=settings.upload_life_seconds),
    )


async def finalise_upload(
    limiter: CapacityLimiter, begin: Transaction, store: Blobs, *, settings: Settings, upload_id: str
) -> Upload:
    """Create the submission of a complete upload, once the limiter has room.

    Returns the upload, which is not ``done`` yet if another request is creating the submission. Raises the error of a
    refused upload.
    """

    def finalise() -> Upload:
        lease = uploads.FINISH_LEASE * settings.retry_factor
        return upload_bytes.finalise(
            begin,
            store,
            upload_id,
            public_id=new_public_id(),
            now=utc_now,
            lease=lease,
            limited=reads_limited(settings),
        )

    upload = await to_thread.run_sync(finalise, limiter=limiter)
    uploads.require_not_refused(upload)
    return upload


@dataclass(frozen=True)
class EntryUpload:
    """Submits a complete file in a single request."""

    begin: Transaction
    store: Blobs
    settings: Settings

    async def submit(
        self,
        slug: str,
        entry: NewSubmission,
        account: Account,
        *,
        chunks: AsyncIterator[bytes],
        declared: int | None,
        build_view: Callable[[Session, Submission], View],
    ) -> View:
        """Stream a file into the store and create a submission; ``build_view`` builds the response in the same
        transaction.

        Errors are raised as early as possible, before or during the transfer. A refused file is deleted.
        """
        begun = utc_now()
        new_id = new_public_id()

        limits = storage.build_upload_limits(self.settings)

        def admit() -> CompetitionState:
            with self.begin() as session:
                require_right_clock(session)
                return intake.admit(
                    Acting(session, account, begun), slug, entry, declared_bytes=declared, limits=limits
                )

        state = await run_in_threadpool(admit)
        limit = intake.upload_limit(state, limits)

        def accept(received: ReceivedBlob, complete: datetime) -> tuple[View, str | None]:
            with self.store.open(received.key) as file:
                ignored = intake.require_file(file, state.competition, entry, limited=reads_limited(self.settings))
            with self.begin() as session:
                submission = intake.accept(
                    Acting(session, account, complete),
                    slug,
                    replace(entry, ignored=ignored),
                    received=received,
                    public_id=new_id,
                    begun=begun,
                    limits=limits,
                )
                return build_view(session, submission), find_unused_key(received, submission.blob_key)

        key = entry_key(state.competition, new_id)
        return await receive_blob(self.store, key, chunks, limit=limit, accept=accept)
