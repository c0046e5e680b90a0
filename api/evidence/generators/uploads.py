"""Receiving a generator file from a request's body or a page's form: streams it into the store and records it."""

import secrets
from collections.abc import AsyncIterator
from datetime import datetime

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from api.evidence.generators.views import GeneratorView, generator_view
from api.http.dependencies import Transaction, utc_now
from api.http.latents import parse_latent
from api.http.multipart import page_form
from api.http.received_blobs import find_unused_key, receive_blob, require_clean
from scorer.acting import Acting
from scorer.blobs import Blobs, ReceivedBlob
from scorer.db.tables import Account
from scorer.errors import Invalid
from scorer.evidence import generator_audits, generator_uploads
from scorer.generators.latents import Latent
from scorer.generators.onnx_files import MAGIC_BYTES, MAX_LATENT_DIMENSION, require_onnx
from scorer.settings import Settings
from scorer.teams import storage


async def store_generator(
    submission_id: str,
    latent: Latent,
    chunks: AsyncIterator[bytes],
    *,
    begin: Transaction,
    store: Blobs,
    account: Account,
    settings: Settings,
) -> GeneratorView:
    """Store a stream as an entry's generator. Errors are raised before the transfer if possible; a refused file is
    deleted."""

    def admit(now: datetime) -> None:
        with begin() as session:
            generator_uploads.require_generator_change(Acting(session, account, now), submission_id)

    await run_in_threadpool(admit, utc_now())
    limits = storage.build_upload_limits(settings)
    key = f"generators/{submission_id}/{secrets.token_hex(8)}.onnx"

    def accept(received: ReceivedBlob, now: datetime) -> tuple[GeneratorView, str | None]:
        start = store.read_part(key, 0, min(MAGIC_BYTES, received.bytes)) if received.bytes else b""
        require_onnx(start, latent.dimension)
        require_clean(store, received, settings)
        with begin() as session:
            generator = generator_uploads.accept_generator(
                Acting(session, account, now),
                submission_id,
                received,
                latent=latent,
                seed=secrets.randbits(32),
                limits=limits,
            )
            view = generator_view(submission_id, generator_audits.find_generator(session, submission_id, account))
            return view, find_unused_key(received, generator.blob_key)

    return await receive_blob(store, key, chunks, limit=settings.generator_max_bytes, accept=accept)


async def receive_generator(
    submission_id: str, request: Request, begin: Transaction, *, store: Blobs, account: Account, settings: Settings
) -> None:
    async with page_form(request, account.id, max_bytes=settings.generator_max_bytes) as form:
        latent = latent_in(form.fields)
        await store_generator(
            submission_id, latent, form.chunks, begin=begin, store=store, account=account, settings=settings
        )


def latent_in(fields: dict[str, str]) -> Latent:
    """The latent space that a form declares; ``Invalid`` if its fields are missing or out of range."""
    declared = parse_latent(fields)
    if declared is None or declared.dimension is None:
        raise Invalid("bad-latent", f"Enter a latent dimension from 1 to {MAX_LATENT_DIMENSION:,}.")
    if declared.distribution is None:
        raise Invalid("bad-latent", "Choose the distribution of each coordinate.")
    return Latent(declared.dimension, declared.distribution, declared.classes or None)
