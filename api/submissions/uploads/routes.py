"""Resumable uploads: tus 1.0.0 for all clients, a presigned PUT if the store supports it."""

import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Annotated

from fastapi import Depends, Header, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from api.http import tus
from api.http.dependencies import (
    ActingSubmitter,
    AppSettings,
    BlobStore,
    JoinLimiter,
    Submitter,
    Transaction,
    Transactions,
    utc_now,
)
from api.http.latents import build_latent, parse_latent
from api.http.paging import Paging
from api.http.received_blobs import declared_bytes
from api.http.request_bodies import streamed_body
from api.http.routing import ApiRouter
from api.openapi.files import file_body
from api.submissions.file_uploads import begin_upload, finalise_upload
from api.submissions.uploads.views import (
    MAX_NAME_LENGTH,
    MAX_NOTE_LENGTH,
    NewUpload,
    UploadNote,
    UploadPage,
    UploadView,
    build_upload_path,
    upload_view,
)
from scorer.acting import Acting
from scorer.blobs import Blobs
from scorer.competitions.competition_state import visible_state
from scorer.db.tables import Account, Upload
from scorer.errors import Invalid
from scorer.submissions import upload_bytes, uploads
from scorer.submissions.intake import NewSubmission
from scorer.submissions.upload_bytes import Appender
from scorer.submissions.uploads import UploadRequest
from scorer.teams.storage import build_upload_limits

router = ApiRouter(tags=["uploads"])
resumable = ApiRouter(tags=["uploads"], route_class=tus.TusRoute)
Bytes = Annotated[int | None, Header(ge=0, le=2**62)]
JSON_BODY = {
    "requestBody": {
        "description": "Leave it out to create the upload with tus headers.",
        "content": {"application/json": {"schema": NewUpload.model_json_schema()}},
    }
}


async def read_requested_upload(
    request: Request,
    store: BlobStore,
    upload_length: Bytes = None,
    *,
    upload_metadata: Annotated[str, Header(max_length=8000)] = "",
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> UploadRequest:
    """The announced upload, from JSON or from tus headers."""
    if tus.is_tus_request(request):
        tus.require_offered_extensions(request)
        if upload_length is None:
            raise tus.TusError(400, "no-length", "The header Upload-Length is missing. Set it to the number of bytes.")
        metadata = tus.parse_metadata(upload_metadata)
        entry = NewSubmission(
            metadata.get("filename", "")[:MAX_NAME_LENGTH],
            metadata.get("note", "")[:MAX_NOTE_LENGTH],
            idempotency_key,
            metadata.get("benchmark") or None,
            latent=parse_latent(metadata),
        )
        return UploadRequest(entry, upload_length, sha256=metadata.get("sha256"), described=upload_metadata)
    try:
        body = NewUpload.model_validate_json(await request.body())
    except ValidationError as error:
        raise RequestValidationError(error.errors()) from None
    if body.method == "put" and not store.supports_presigned_put:
        raise Invalid("no-put", "This service does not accept uploads directly into its store. Use tus.")
    latent = build_latent(body.latent, body.distribution, body.classes)
    entry = NewSubmission(body.file_name, body.note, idempotency_key, body.benchmark, latent=latent)
    return UploadRequest(
        entry, body.length, body.method or ("put" if store.supports_presigned_put else "tus"), body.sha256
    )


@resumable.options("/competitions/{slug}/uploads", status_code=204, include_in_schema=False)
@resumable.options("/uploads/{upload_id}", status_code=204, include_in_schema=False)
def discover(settings: AppSettings) -> Response:
    """Get the supported version, extensions and limits of tus."""
    return Response(status_code=204, headers={**tus.DISCOVERY, "Tus-Max-Size": str(settings.max_upload_bytes)})


@resumable.post("/competitions/{slug}/uploads", status_code=201, response_model=UploadView, openapi_extra=JSON_BODY)
def create(
    slug: str,
    request: Request,
    wanted: Annotated[UploadRequest, Depends(read_requested_upload)],
    acting: ActingSubmitter,
    store: BlobStore,
    settings: AppSettings,
    response: Response,
) -> UploadView | Response:
    """Begin an upload with tus headers or JSON. The response to JSON has the address to send the bytes to. All errors
    that do not depend on the bytes are reported here. A request with the same `Idempotency-Key` returns the same
    upload."""
    upload = begin_upload(acting, slug, wanted, settings=settings)
    headers = {"Location": build_upload_path(upload)}
    if tus.is_tus_request(request):
        return Response(status_code=201, headers={**tus.upload_headers(upload), **headers})
    response.headers.update(headers)
    return upload_view(upload, store, acting.now)


@resumable.get("/competitions/{slug}/uploads")
def list_uploads(slug: str, acting: ActingSubmitter, store: BlobStore, wanted: Paging) -> UploadPage:
    """List your uploads that can still become submissions."""
    state = visible_state(acting, slug)
    page = wanted.slice_all(uploads.list_open_uploads(acting, state))
    return UploadPage(
        uploads=[upload_view(upload, store, acting.now) for upload in page.rows], next_after=page.next_after
    )


@resumable.head("/uploads/{upload_id}", response_class=Response)
def tell(upload_id: str, acting: ActingSubmitter) -> Response:
    """Get the offset and length of an upload (tus)."""
    upload = uploads.find_upload(acting, upload_id)
    uploads.require_not_refused(upload)
    return Response(headers=tus.upload_headers(upload))


@resumable.get("/uploads/{upload_id}")
def show(upload_id: str, acting: ActingSubmitter, store: BlobStore) -> UploadView:
    """Get an upload's progress, and its submission or the reason for its refusal."""
    return upload_view(uploads.find_upload(acting, upload_id), store, acting.now)


@resumable.post(
    "/uploads/{upload_id}", status_code=204, include_in_schema=False, dependencies=[Depends(tus.require_override)]
)
@resumable.patch(
    "/uploads/{upload_id}",
    status_code=204,
    openapi_extra=file_body("Bytes of the file.", media_type=tus.PATCH_MEDIA_TYPE),
)
async def append(
    upload_id: str,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    settings: AppSettings,
    joins: JoinLimiter,
    account: Submitter,
    upload_offset: Bytes = None,
    upload_checksum: Annotated[str | None, Header(max_length=200)] = None,
) -> Response:
    """Append bytes (tus). The newest request wins: an older request that was interrupted fails with 409. The last byte
    creates the submission. The response has its ID in the header `Kennel-Submission`."""
    tus.require_patch_body(request)
    if upload_offset is None:
        raise tus.TusError(
            400, "no-offset", "The header Upload-Offset is missing. Set it to the position of the first byte."
        )
    checksum = tus.parse_checksum(upload_checksum)
    writer = secrets.token_hex(8)
    adds = declared_bytes(request)
    upload = await run_in_threadpool(
        _begin_append, begin, upload_id, account, offset=upload_offset, adds=adds, writer=writer
    )
    if upload.completed_at is None:
        life = timedelta(seconds=settings.upload_life_seconds)
        appender = Appender(begin, store, upload, writer, upload_offset, life, build_upload_limits(settings), utc_now)
        await _append(appender, streamed_body(request, account.id), checksum)
    upload = await finalise_upload(joins, begin, store, settings=settings, upload_id=upload.id)
    return Response(status_code=204, headers=tus.upload_headers(upload))


async def _append(appender: Appender, chunks: AsyncIterator[bytes], checksum: tus.Checksum | None) -> None:
    if checksum is None:
        await appender.append(chunks)
    elif not await appender.append_whole(chunks, checksum.algorithm, checksum.digest):
        raise tus.TusError(460, "checksum-mismatch", "The checksum does not match the received bytes. Send them again.")


def _begin_append(
    begin: Transaction, upload_id: str, account: Account, *, offset: int, adds: int | None, writer: str
) -> Upload:
    with begin() as session:
        upload = uploads.find_upload(Acting(session, account, utc_now()), upload_id)
        uploads.require_not_refused(upload)
        uploads.take_over(session, upload, offset=offset, adds=adds, writer=writer)
        return upload


@router.post("/uploads/{upload_id}/complete")
async def complete(
    upload_id: str,
    begin: Transactions,
    store: BlobStore,
    joins: JoinLimiter,
    settings: AppSettings,
    account: Submitter,
) -> UploadView:
    """Create the submission from a complete upload. This is required after a PUT and has no effect after tus."""
    await run_in_threadpool(_complete, begin, store, upload_id, account=account)
    return upload_view(
        await finalise_upload(joins, begin, store, settings=settings, upload_id=upload_id), store, utc_now()
    )


def _complete(begin: Transaction, store: Blobs, upload_id: str, *, account: Account) -> None:
    with begin() as session:
        upload = uploads.find_upload(Acting(session, account, utc_now()), upload_id)
        uploads.require_not_refused(upload)
    if upload.method == "put" and upload.completed_at is None:
        upload_bytes.complete_presigned_upload(begin, store, upload, now=utc_now())
    else:
        uploads.require_whole(upload)


@resumable.put("/uploads/{upload_id}/note")
def change_note(upload_id: str, body: UploadNote, acting: ActingSubmitter, store: BlobStore) -> UploadView:
    """Change the note of an upload in progress. The received bytes are kept."""
    upload = uploads.find_upload(acting, upload_id)
    uploads.change_note(acting.session, upload, body.note)
    return upload_view(uploads.current_upload(acting.session, upload_id), store, acting.now)


@resumable.delete("/uploads/{upload_id}", status_code=204)
def end(upload_id: str, acting: ActingSubmitter) -> Response:
    """Terminate an upload (tus). Its bytes are deleted."""
    uploads.end(acting.session, uploads.find_upload(acting, upload_id))
    return Response(status_code=204)
