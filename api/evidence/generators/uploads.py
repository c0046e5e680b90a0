"""Receives a generator file: streams it into the store and records it."""

import secrets
from collections.abc import AsyncIterator
from datetime import datetime

from fastapi.concurrency import run_in_threadpool

from api.evidence.generators.views import GeneratorView, generator_view
from api.http.dependencies import Transaction, utc_now
from api.submissions.zip_uploads import receive_blob, require_clean, unused_key_of
from scorer.blobs import Blobs, ReceivedBlob
from scorer.db.tables import Account
from scorer.evidence import generator_audits, generator_uploads
from scorer.evidence.generator_uploads import DeclaredLatent
from scorer.onnx_files import MAGIC_BYTES, require_onnx
from scorer.settings import Settings
from scorer.teams import storage


async def store_generator(
    submission_id: str,
    declared: DeclaredLatent,
    chunks: AsyncIterator[bytes],
    begin: Transaction,
    store: Blobs,
    account: Account,
    settings: Settings,
) -> GeneratorView:
    """Store a stream as an entry's generator. What can be refused before the transfer is; a refused file is deleted."""

    def admit(now: datetime) -> None:
        with begin() as session:
            generator_uploads.require_generator_change(session, submission_id, account, now)

    await run_in_threadpool(admit, utc_now())
    limits = storage.limits_of(settings)
    key = f"generators/{submission_id}/{secrets.token_hex(8)}.onnx"

    def accept(received: ReceivedBlob, now: datetime) -> tuple[GeneratorView, str | None]:
        start = store.read_part(key, 0, min(MAGIC_BYTES, received.bytes)) if received.bytes else b""
        require_onnx(start, declared.dimension)
        require_clean(store, received, settings)
        with begin() as session:
            generator = generator_uploads.accept_generator(
                session,
                submission_id,
                received,
                declared,
                seed=secrets.randbits(32),
                account=account,
                limits=limits,
                now=now,
            )
            view = generator_view(submission_id, generator_audits.find_generator(session, submission_id, account))
            return view, unused_key_of(received, generator.blob_key)

    return await receive_blob(store, key, chunks, limit=settings.generator_max_bytes, accept=accept)
