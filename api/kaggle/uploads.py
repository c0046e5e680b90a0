"""Submitting a zip in the client's three requests: start an upload, send the bytes, create the submission."""

import secrets
from collections.abc import AsyncIterator
from datetime import timedelta

import anyio
from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool

from api.http.dependencies import (
    AppRateLimiter,
    AppSettings,
    BlobStore,
    CurrentBrowser,
    DbSession,
    JoinLimiter,
    Now,
    Transaction,
    Transactions,
    utc_now,
)
from api.http.multipart import drain
from api.http.request_bodies import streamed_body
from api.kaggle.protocol import KaggleRouter, Submitter, absolute_url_of, credentials_of
from api.kaggle.schemas import (
    CreateSubmissionRequest,
    CreateSubmissionResponse,
    StartUploadRequest,
    StartUploadResponse,
)
from api.submissions.zip_uploads import begin_upload, finalise_upload
from scorer.accounts.rate_limits import network_of
from scorer.blobs import Blobs
from scorer.db.tables import Account, Upload
from scorer.errors import Conflict, Unavailable
from scorer.identifiers import digest_of
from scorer.submissions import upload_bytes
from scorer.submissions.intake import NewSubmission
from scorer.submissions.upload_bytes import Appender
from scorer.submissions.uploads import UploadRequest
from scorer.teams.storage import limits_of

router = KaggleRouter()
BYTES = "/kaggle/uploads"
UPLOAD_USER = "upload"
"""The client knows nothing but an address for the bytes. HTTP clients send what stands before its host as a header, of
``Basic``: so the secret is in no path, and in no log."""
MAX_POLLS = 60
POLL_SECONDS = 0.5
"""While another request makes the submission: how often to look for it, and how many seconds apart."""


@router.post("/competitions.CompetitionApiService/StartSubmissionUpload")
def start_upload(
    body: StartUploadRequest, request: Request, session: DbSession, settings: AppSettings, account: Submitter, now: Now
) -> StartUploadResponse:
    """Begin an upload. Everything that can be refused without the bytes is refused here: while it sends bytes the
    client shows no messages."""
    secret = secrets.token_urlsafe(32)
    wanted = UploadRequest(
        NewSubmission(body.kept_name), body.content_length, method="wire", put_digest=digest_of(secret)
    )
    upload = begin_upload(session, body.competition_name, wanted, account, settings, now)
    url = absolute_url_of(request, f"/api/v1{BYTES}/{upload.id}", settings)
    return StartUploadResponse(token=upload.id, create_url=url.replace("://", f"://{UPLOAD_USER}:{secret}@", 1))


@router.put(f"{BYTES}/{{upload_id}}")
async def receive_upload(
    upload_id: str,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    settings: AppSettings,
    rates: AppRateLimiter,
    browser: CurrentBrowser,
) -> Response:
    """Receive all bytes of an upload; its secret authorises it. After a broken connection the client starts again from
    the first byte, so earlier bytes are dropped."""
    await run_in_threadpool(rates.hit, "request", "address", network_of(browser.address))
    _, secret = credentials_of(request.headers.get("authorization", ""))
    writer = secrets.token_hex(8)
    upload = await run_in_threadpool(_restart_upload, begin, store, upload_id, secret, writer)
    chunks = streamed_body(request, upload.account_id)
    if upload.state == "done":  # a repeat after a lost answer; the client reads one only after it has sent everything
        await drain(chunks, upload.length)
    else:
        life = timedelta(seconds=settings.upload_life_seconds)
        appender = Appender(begin, store, upload, writer, 0, life, limits_of(settings), utc_now)
        await _append_all(chunks, upload.length, appender)
    return Response()


async def _append_all(chunks: AsyncIterator[bytes], length: int, appender: Appender) -> None:
    await appender.append(chunks)
    if appender.offset != length:
        raise Conflict("not-complete", f"{appender.offset:,} bytes came, {length:,} were announced.")


def _restart_upload(begin: Transaction, store: Blobs, upload_id: str, secret: str, writer: str) -> Upload:
    with begin() as session:
        upload, dropped = upload_bytes.take_bytes(session, upload_id, secret, writer=writer, now=utc_now())
    if dropped:
        store.discard(dropped)
    return upload


@router.post("/competitions.CompetitionApiService/CreateSubmission")
async def create_submission(
    body: CreateSubmissionRequest,
    begin: Transactions,
    store: BlobStore,
    joins: JoinLimiter,
    settings: AppSettings,
    account: Submitter,
) -> CreateSubmissionResponse:
    """Make the submission, or return what is wrong with the zip. The same token gives the same submission."""
    for _ in range(MAX_POLLS):
        complete = await run_in_threadpool(_set_note, body, begin, account)
        upload = await finalise_upload(joins, begin, store, settings, complete.id)
        if upload.submission is not None:
            submission = upload.submission
            title = upload.competition.title
            url = f"{settings.public_url}/submissions/{submission.id}"
            return CreateSubmissionResponse(message=f"Successfully submitted to {title}: {url}\n", ref=submission.ref)
        await anyio.sleep(POLL_SECONDS)
    raise Unavailable("still-making", "Your submission is still being made; please look at your submissions.")


def _set_note(body: CreateSubmissionRequest, begin: Transaction, account: Account) -> Upload:
    slug = body.competition_name
    note = body.submission_description
    with begin() as session:
        return upload_bytes.submit_wire_upload(session, slug, body.blob_file_tokens, note, account, now=utc_now())
