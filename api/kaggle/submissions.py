"""A team's submissions and limits, and submitting a file with the client's three requests: start the upload, send the
bytes, create the submission.
"""

import secrets
from datetime import datetime, timedelta

import anyio
from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from sqlalchemy.orm import Session

from api.http.dependencies import (
    AppRateLimiter,
    AppSettings,
    BlobStore,
    CurrentBrowser,
    JoinLimiter,
    Transaction,
    Transactions,
    utc_now,
)
from api.http.multipart import drain
from api.http.rate_limits import find_network
from api.http.request_bodies import streamed_body
from api.kaggle.authentication import (
    SERVICE,
    ActingReader,
    ActingSubmitter,
    KaggleRouter,
    Submitter,
    build_absolute_url,
    parse_credentials,
)
from api.kaggle.schemas import (
    CompetitionRequest,
    CreateSubmissionRequest,
    CreateSubmissionResponse,
    LimitsResponse,
    PageRequest,
    StartUploadRequest,
    StartUploadResponse,
    SubmissionMessage,
    SubmissionRequest,
    SubmissionsResponse,
)
from api.submissions.file_uploads import begin_upload, finalise_upload
from scorer.acting import Acting
from scorer.blobs import Blobs
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account, Submission, Upload
from scorer.db.teams.merges import current_team
from scorer.errors import Conflict, Unavailable
from scorer.identifiers import hash_secret
from scorer.leaderboard import submission_scores
from scorer.leaderboard.submission_scores import JudgedMeasurement
from scorer.lifecycle import PENDING, Phase, Status
from scorer.submissions import access, upload_bytes, uploads
from scorer.submissions.intake import NewSubmission
from scorer.submissions.upload_bytes import Appender
from scorer.submissions.uploads import UploadRequest
from scorer.teams import quotas
from scorer.teams.quotas import Quota, Refusal
from scorer.teams.storage import build_upload_limits

router = KaggleRouter()


@router.post(f"{SERVICE}/GetSubmission")
def get_submission(body: SubmissionRequest, acting: ActingReader, settings: AppSettings) -> SubmissionMessage:
    submission = access.find_by_ref(acting.session, body.ref, acting.actor)
    state = competition_state.visible_state(acting, submission.competition.slug)
    return _entry(acting.session, state, submission, account=acting.actor, site=settings.public_url)


@router.post(f"{SERVICE}/ListSubmissions")
def list_submissions(body: PageRequest, acting: ActingReader, settings: AppSettings) -> SubmissionsResponse:
    state = competition_state.visible_state(acting, body.competition_name)
    before = int(body.page_token) if body.page_token else None
    submissions = access.list_submissions(acting.session, state, acting.actor, before=before, limit=body.page_size + 1)
    page = submissions[: body.page_size]
    more = len(submissions) > body.page_size
    return SubmissionsResponse(
        submissions=[
            _entry(acting.session, state, submission, account=acting.actor, site=settings.public_url)
            for submission in page
        ],
        next_page_token=str(page[-1].ref) if more else "",
    )


def _entry(
    session: Session, state: CompetitionState, submission: Submission, *, account: Account, site: str
) -> SubmissionMessage:
    judged = {
        measurement.track: measurement
        for measurement in submission_scores.load_measurements(session, submission, account, ranked=False)
    }
    decimals = state.competition.score_decimals
    public = judged.get("public")
    error = _error(submission, public)
    return SubmissionMessage(
        ref=submission.ref,
        total_bytes=submission.bytes,
        date=submission.accepted_at,
        description=submission.note,
        error_description=error,
        file_name=submission.file_name,
        public_score=_score(public, decimals),
        # Also hidden from organizers until then: others may see the client's output or use it with their token.
        private_score=_score(judged.get("private"), decimals) if state.published else "",
        status=_status(submission, error),
        submitted_by=submission.account.handle,
        submitted_by_ref=submission.account.handle,
        team_name=current_team(session, submission.team_id).name,
        url=f"{site}/submissions/{submission.id}",
    )


def _score(judged: JudgedMeasurement | None, decimals: int) -> str:
    if judged is None or judged.mifid is None:
        return ""
    return f"{judged.mifid:.{decimals}f}"


def _error(submission: Submission, public: JudgedMeasurement | None) -> str:
    """Why an entry will never get a score; empty if it has a score or may still get one."""
    if submission.status in PENDING:
        return ""
    if submission.status == Status.SCORED:
        return public.explanation if public is not None and public.copy else ""
    if submission.status == Status.CANCELLED:
        return "Your team cancelled this submission."
    why = submission.reason or f"This submission is {submission.status}."
    return "\n".join([why, *(f"- {fault}" for fault in submission.faults or ())])


@router.post(f"{SERVICE}/GetSubmissionLimits")
def get_submission_limits(body: CompetitionRequest, acting: ActingReader) -> LimitsResponse:
    state = competition_state.visible_state(acting, body.competition_name)
    quota = quotas.load_quota(acting.session, state, acting.actor, now=acting.now)
    return LimitsResponse(
        num_today=quota.usage.charged,
        num_total=quotas.count_entries(acting.session, state, acting.actor),
        num_allowed_now=_remaining_today(state, quota, acting.now),
    )


def _remaining_today(state: CompetitionState, quota: Quota, now: datetime) -> int:
    """The remaining entries for today. Entries in progress delay the next entry but do not count."""
    may_enter = state.phase is Phase.OPEN or competition_state.takes_late(state, now)
    if not may_enter or quota.refusal is Refusal.REJECTED:
        return 0
    if quota.remaining is None:
        return max(0, quota.limits.pending_limit - quota.usage.pending)
    return quota.remaining


def _status(submission: Submission, error: str) -> str:
    if submission.status in PENDING:
        return "PENDING"
    return "ERROR" if error else "COMPLETE"


BYTES = "/kaggle/uploads"
UPLOAD_USER = "upload"
"""The user name in the address for the bytes, which is all the client knows. HTTP clients send the user name and secret
of an address as a ``Basic`` header: the secret is in no path and in no log."""
MAX_POLLS = 60
POLL_SECONDS = 0.5
"""How often and how far apart to check for the submission while another request creates it."""


@router.post(f"{SERVICE}/StartSubmissionUpload")
def start_upload(
    body: StartUploadRequest, request: Request, acting: ActingSubmitter, settings: AppSettings
) -> StartUploadResponse:
    """Begin an upload. Errors that need no bytes are raised here, because the client shows no messages while it sends
    bytes."""
    secret = secrets.token_urlsafe(32)
    wanted = UploadRequest(
        NewSubmission(body.stored_name), body.content_length, method="wire", put_digest=hash_secret(secret)
    )
    upload = begin_upload(acting, body.competition_name, wanted, settings=settings)
    url = build_absolute_url(request, f"/api/v1{BYTES}/{upload.id}", settings)
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
    """Receive all bytes of an upload, authorised by its secret. After a lost connection, the client starts again from
    the first byte, so earlier bytes are dropped."""
    await run_in_threadpool(rates.hit, "request", "address", find_network(browser.address))
    _, secret = parse_credentials(request.headers.get("authorization", ""))
    writer = secrets.token_hex(8)
    upload = await run_in_threadpool(_restart_upload, begin, store, upload_id, secret=secret, writer=writer)
    chunks = streamed_body(request, upload.account_id)
    if (
        upload.state == "done"
    ):  # a repetition after a lost response; the client reads the response only after sending everything
        await drain(chunks, upload.length)
    else:
        life = timedelta(seconds=settings.upload_life_seconds)
        appender = Appender(begin, store, upload, writer, 0, life, build_upload_limits(settings), utc_now)
        await appender.append(chunks)
        if appender.offset != upload.length:
            raise Conflict(
                "not-complete",
                f"{appender.offset:,} bytes arrived, but {upload.length:,} were announced. Upload the file again.",
            )
    return Response()


def _restart_upload(begin: Transaction, store: Blobs, upload_id: str, *, secret: str, writer: str) -> Upload:
    with begin() as session:
        upload, dropped = upload_bytes.take_bytes(session, upload_id, secret, writer=writer, now=utc_now())
    if dropped:
        store.discard(dropped)
    return upload


@router.post(f"{SERVICE}/CreateSubmission")
async def create_submission(
    body: CreateSubmissionRequest,
    begin: Transactions,
    store: BlobStore,
    joins: JoinLimiter,
    settings: AppSettings,
    account: Submitter,
) -> CreateSubmissionResponse:
    """Create the submission, or return the faults of the file. The same token gives the same submission."""
    for _ in range(MAX_POLLS):
        complete = await run_in_threadpool(_set_note, body, begin, account)
        upload = await finalise_upload(joins, begin, store, settings=settings, upload_id=complete.id)
        if upload.submission is not None:
            submission = upload.submission
            title = upload.competition.title
            url = f"{settings.public_url}/submissions/{submission.id}"
            message = f"Successfully submitted to {title}: {url}"
            if uploads.is_repeated(upload):
                message = f"This file is entry {submission.ref}, submitted on {submission.accepted_at:%Y-%m-%d}: {url}"
            return CreateSubmissionResponse(message=f"{message}\n", ref=submission.ref)
        await anyio.sleep(POLL_SECONDS)
    raise Unavailable(
        "still-making", "Your submission is still being created. Check your list of submissions in a minute."
    )


def _set_note(body: CreateSubmissionRequest, begin: Transaction, account: Account) -> Upload:
    slug = body.competition_name
    note = body.submission_description
    with begin() as session:
        return upload_bytes.submit_wire_upload(
            Acting(session, account, utc_now()), slug, body.blob_file_tokens, note=note
        )
