"""Receives uploads into the blob store; refused ones are deleted. A zip becomes a submission in the same request."""

import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from anyio import CapacityLimiter, to_thread
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from api.http.dependencies import Transaction, utc_now
from api.http.received_blobs import reads_limited, receive_blob, unused_key_of
from api.http.right_clock import require_right_clock
from scorer.archive.limited_listing import require_images
from scorer.blobs import Blobs, ReceivedBlob
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account, Submission, Upload
from scorer.identifiers import new_public_id
from scorer.settings import Settings
from scorer.submissions import intake, upload_bytes, uploads
from scorer.submissions.intake import NewSubmission
from scorer.submissions.uploads import UploadRequest
from scorer.teams import storage

View = TypeVar("View")


def begin_upload(
    session: Session, slug: str, wanted: UploadRequest, account: Account, settings: Settings, now: datetime
) -> Upload:
    """Begin a resumable upload within the limits of the settings."""
    require_right_clock(session)
    return uploads.begin(
        session,
        slug,
        wanted,
        account,
        upload_id=secrets.token_urlsafe(16),
        limits=storage.limits_of(settings),
        life=timedelta(seconds=settings.upload_life_seconds),
        now=now,
    )


async def finalise_upload(
    limiter: CapacityLimiter, begin: Transaction, store: Blobs, settings: Settings, upload_id: str
) -> Upload:
    """Make the submission of a whole upload, as soon as the limiter lets another one be joined. Returns the upload
    afterwards, not yet ``done`` while another request makes the submission; raises the error of a refused one."""

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
class ZipUpload:
    """Submits a whole zip: one request, one submission."""

    begin: Transaction
    store: Blobs
    settings: Settings

    async def submit(
        self,
        slug: str,
        entry: NewSubmission,
        account: Account,
        chunks: AsyncIterator[bytes],
        *,
        declared: int | None,
        view_of: Callable[[Session, Submission], View],
    ) -> View:
        """Stream a zip into the store and make a submission of it; ``view_of`` makes the answer in the same
        transaction. What can be refused before or during the transfer is; a refused zip is deleted."""
        begun = utc_now()
        new_id = new_public_id()

        limits = storage.limits_of(self.settings)

        def admit() -> CompetitionState:
            with self.begin() as session:
                require_right_clock(session)
                return intake.admit(session, slug, entry, account, declared_bytes=declared, limits=limits, now=begun)

        state = await run_in_threadpool(admit)
        limit = intake.upload_limit(state, limits)

        def accept(received: ReceivedBlob, complete: datetime) -> tuple[View, str | None]:
            with self.store.open(received.key) as file:
                ignored = require_images(file, state.image_spec, limited=reads_limited(self.settings))
            with self.begin() as session:
                submission = intake.accept(
                    session,
                    slug,
                    entry,
                    account,
                    received,
                    public_id=new_id,
                    ignored=ignored,
                    now=complete,
                    begun=begun,
                    limits=limits,
                )
                return view_of(session, submission), unused_key_of(received, submission.blob_key)

        return await receive_blob(self.store, f"submissions/{new_id}.zip", chunks, limit=limit, accept=accept)
