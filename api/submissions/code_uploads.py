"""Receives a code attachment: streams it into the store and records it."""

import secrets
from collections.abc import AsyncIterator
from datetime import datetime

from fastapi.concurrency import run_in_threadpool

from api.http.dependencies import Transaction, utc_now
from api.http.received_blobs import reads_limited, receive_blob, require_clean
from api.submissions.views import CodeView, code_view
from scorer.blobs import Blobs, ReceivedBlob, require_bytes
from scorer.db.tables import Account
from scorer.evidence import code_uploads
from scorer.settings import Settings
from scorer.teams import storage

CODE_MEDIA_TYPES = {"zip": "application/zip", "notebook": "application/x-ipynb+json"}


async def store_code(
    submission_id: str,
    chunks: AsyncIterator[bytes],
    begin: Transaction,
    store: Blobs,
    account: Account,
    settings: Settings,
    *,
    declared: int | None = None,
) -> CodeView:
    """Store a stream as an entry's code, in place of earlier code."""

    def admit(now: datetime) -> None:
        with begin() as session:
            submission = code_uploads.require_code_change(session, submission_id, account, now)
            code_uploads.require_room_for_code(session, submission, account, limits, wanted=declared or 0, now=now)

    limits = storage.limits_of(settings)
    require_bytes(declared, code_uploads.MAX_CODE_BYTES)
    await run_in_threadpool(admit, utc_now())
    key = f"code/{submission_id}/{secrets.token_hex(8)}"

    def accept(received: ReceivedBlob, now: datetime) -> tuple[CodeView, str | None]:
        require_clean(store, received, settings)
        with store.open(received.key) as file:
            kind = code_uploads.kind_of(file, limited=reads_limited(settings))
        with begin() as session:
            code, replaced = code_uploads.attach_code(
                session, submission_id, received, kind, account=account, limits=limits, now=now
            )
            return code_view(code), replaced.blob_key if replaced is not None else None

    return await receive_blob(store, key, chunks, limit=code_uploads.MAX_CODE_BYTES, accept=accept)
