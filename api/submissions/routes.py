"""Submissions: submitting a file, and listing, reading and cancelling submissions."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from api.http.concurrent_requests import uncount_request
from api.http.dependencies import (
    ActingOrganizer,
    ActingReader,
    ActingSubmitter,
    AppSettings,
    BlobStore,
    CurrentUser,
    DbSession,
    Submitter,
    Transaction,
    Transactions,
    utc_now,
)
from api.http.etags import compute_etag, picture_response
from api.http.latents import declared_latent
from api.http.paging import Paging
from api.http.ranges import BlobPart, Content, range_response, read_chunks
from api.http.received_blobs import declared_bytes
from api.http.request_bodies import streamed_body
from api.http.routing import ApiRouter
from api.http.security_headers import INERT_HEADERS
from api.http.server_sent_events import EventHub, StatusUpdate
from api.openapi.files import FILE, PICTURE, file_answer, file_body
from api.submissions.file_uploads import CODE_MEDIA_TYPES, EntryUpload, store_code
from api.submissions.uploads.views import DEFAULT_NAME
from api.submissions.views import (
    AcceptedView,
    CodeRequestView,
    CodeView,
    NewCodeRequest,
    StateView,
    SubmissionPage,
    SubmissionView,
    accepted_view,
    submission_view,
    submission_views,
)
from scorer.competitions.competition_state import visible_state
from scorer.competitions.spec import MAX_DRAWS
from scorer.db.session import use_one_snapshot
from scorer.db.tables import Account
from scorer.evidence import code_uploads
from scorer.generators.onnx_files import DeclaredLatent
from scorer.lifecycle import CANCELLABLE, STAGES, TrackKind
from scorer.submissions import access, files, outcomes, progress
from scorer.submissions.intake import NewSubmission
from scorer.submissions.progress import StatusSnapshot

router = ApiRouter(tags=["submissions"])


@router.post(
    "/competitions/{slug}/submissions",
    status_code=202,
    openapi_extra=file_body("The zip of PNGs, or the ONNX file."),
)
async def submit(
    slug: str,
    request: Request,
    response: Response,
    begin: Transactions,
    store: BlobStore,
    settings: AppSettings,
    account: Submitter,
    latent: Annotated[DeclaredLatent | None, Depends(declared_latent)],
    note: Annotated[str, Query(max_length=2000)] = "",
    file_name: Annotated[str, Query(max_length=200, description=DEFAULT_NAME)] = "",
    benchmark: Annotated[
        str | None,
        Query(min_length=1, max_length=100, description="The name of a benchmark entry. For organizers only."),
    ] = None,
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> AcceptedView:
    """Submit a zip of PNGs, or an ONNX file in a competition of generators. The request body is the file itself. The
    request fails if the zip's directory has faults, or if the generator has another format. A worker then checks the
    rest, usually within seconds, and reports faults in the submission at `Location`. If your team has already submitted
    the same generator, the response has that submission."""
    entry = NewSubmission(file_name, note, idempotency_key, benchmark, latent=latent)
    view = await EntryUpload(begin, store, settings).submit(
        slug,
        entry,
        account,
        chunks=streamed_body(request, account.id),
        declared=declared_bytes(request),
        build_view=accepted_view,
    )
    response.headers["Location"] = f"/api/v1/submissions/{view.id}"
    return view


@router.get("/competitions/{slug}/submissions")
def index(slug: str, acting: ActingReader, wanted: Paging) -> SubmissionPage:
    """List the submissions of your team, newest first; for organizers, of all teams."""
    before, limit = wanted.after, wanted.one_more
    newest = access.list_submissions(
        acting.session, visible_state(acting, slug), acting.actor, before=before, limit=limit
    )
    page = wanted.slice_following(newest, lambda submission: submission.ref)
    views = submission_views(acting.session, page.rows, acting.actor)
    return SubmissionPage(submissions=views, next_after=page.next_after)


@router.get("/submissions/{submission_id}")
def show(submission_id: str, session: DbSession, account: CurrentUser) -> SubmissionView:
    """Get a submission's status, faults and measurements."""
    return submission_view(session, access.find_submission(session, submission_id, account), account)


@router.post("/submissions/{submission_id}/cancel")
def cancel(submission_id: str, acting: ActingSubmitter) -> SubmissionView:
    """Cancel a submission before its scoring starts. A cancelled submission does not count. Cancelling again changes
    nothing. The request fails with 409 if scoring has started."""
    return submission_view(acting.session, outcomes.cancel(acting, submission_id), acting.actor)


events = ApiRouter(tags=["submissions"])

STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
HEARTBEAT_COMMENT = ": still here\n\n"
EXAMPLE = (
    'id: 17\ndata: {"status":"queued","at":"2026-11-14T20:00:05Z","reason":null,"stage":null,"stage_in_words":null,'
    '"fraction":null,"queue_position":3,"paused":false,"estimate_seconds":240,"cancellable":true,"over":false}\n\n'
)
RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {STREAM: {"schema": {"type": "string"}, "example": EXAMPLE}},
        "description": "Each event's data is a `StateView`.",
    },
    204: {"description": "`Last-Event-ID` is the ID of the last state. Do not reconnect."},
}


async def event_hub(request: Request) -> EventHub:
    hub: EventHub = request.app.state.hub
    return hub


@events.get("/submissions/{submission_id}/events", responses=RESPONSES, response_class=StreamingResponse)
async def follow(
    submission_id: str,
    request: Request,
    begin: Transactions,
    account: CurrentUser,
    hub: Annotated[EventHub, Depends(event_hub)],
    last_event_id: Annotated[str, Header(max_length=100)] = "",
) -> Response:
    """Follow a submission with server-sent events. The stream has every status so far, in order, then each new status
    up to the last one. It repeats the newest state when its progress changes. An event's ID is the version of the
    status. A client that reconnects with `Last-Event-ID` gets every later status."""
    hub.require_free_stream(account.id)
    ref, known = await run_in_threadpool(_load_snapshot, begin, submission_id, account)
    after = _last_seen_step(last_event_id, known)
    if known.steps and known.steps[-1].is_last and known.steps[-1].id == after:
        return Response(status_code=204, headers=HEADERS)
    uncount_request(request)
    states = hub.follow(ref, known, after=after, account_id=account.id)
    return StreamingResponse(_lines(states), media_type=STREAM, headers=HEADERS)


def _load_snapshot(begin: Transaction, submission_id: str, account: Account) -> tuple[int, StatusSnapshot]:
    with begin() as session:
        use_one_snapshot(session)
        ref = access.find_submission(session, submission_id, account).ref
        return ref, progress.status_snapshots(session, {ref: 0}, now=utc_now())[ref]


def _last_seen_step(last_event_id: str, known: StatusSnapshot) -> int:
    """The id of the step in ``Last-Event-ID``; 0 if it is unknown."""
    return next((step.id for step in known.steps if str(step.id) == last_event_id), 0)


async def _lines(states: AsyncGenerator[StatusUpdate | None]) -> AsyncGenerator[str]:
    yield "retry: 2000\n\n"
    async with aclosing(states):
        async for state in states:
            yield HEARTBEAT_COMMENT if state is None else _event(state)


def _event(state: StatusUpdate) -> str:
    step, progress = state
    view = StateView.of(
        step,
        **asdict(progress),
        stage_in_words=STAGES.get(progress.stage, progress.stage) if progress.stage else None,
        cancellable=step.status in CANCELLABLE,
        over=step.is_last,
    )
    return f"id: {step.id}\ndata: {view.model_dump_json(by_alias=True)}\n\n"


results = ApiRouter(tags=["results"])
CODE = file_answer(*CODE_MEDIA_TYPES.values())


@results.get("/submissions/{submission_id}/sprite", response_class=Response, responses=PICTURE)
def sprite(
    submission_id: str, request: Request, session: DbSession, store: BlobStore, account: CurrentUser
) -> Response:
    """Get small versions of up to 100 of a submission's images as one PNG, with 10 images per row. For its team,
    reviewers and organizers."""
    key = files.sprite_key(access.find_with_rulings(session, submission_id, account)[0])
    return picture_response(request, compute_etag(key), lambda: store.read(key))


@results.get("/submissions/{submission_id}/file", response_class=Response, responses=FILE)
def download_file(submission_id: str, request: Request, acting: ActingReader, store: BlobStore) -> Response:
    """Download a generator that was submitted as an entry. For its team, reviewers and organizers. The audit log
    records who else than the team downloads it."""
    submission, stored = files.load_generator_for_download(acting, submission_id)
    parts = [BlobPart(stored.key, submission.bytes)]
    content = Content(f"entry-{submission.ref}.onnx", parts, stored.sha256, submission.accepted_at)
    return range_response(request, content, store)


@results.get("/submissions/{submission_id}/draws/{kind}/{number}", response_class=Response, responses=FILE)
def download_draw(
    submission_id: str,
    kind: TrackKind,
    number: Annotated[int, Path(ge=1, le=MAX_DRAWS, description="The number of the draw, from 1.")],
    request: Request,
    acting: ActingReader,
    store: BlobStore,
) -> Response:
    """Download the images of a draw as a zip of PNGs. For the submission's team, reviewers and organizers. The team can
    download public draws once the submission is scored, and private draws once a board is published."""
    submission, draw, stored = files.load_draw_for_download(acting, submission_id, kind, number=number)
    name = f"entry-{submission.ref}-{kind}-{number}.zip"
    content = Content(name, [BlobPart(stored.key, draw.bytes)], stored.sha256, draw.created_at)
    return range_response(request, content, store)


@results.put(
    "/submissions/{submission_id}/code",
    openapi_extra=file_body("A zip or a notebook."),
)
async def attach(
    submission_id: str,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    settings: AppSettings,
    account: Submitter,
) -> CodeView:
    """Attach the code that generated the images, for the reviewers. The request body is a zip or a notebook of at most
    20 MB. You can replace the code until the competition's deadline, or until that of the organizers' code request."""
    size = declared_bytes(request)
    body = streamed_body(request, account.id)
    return await store_code(submission_id, body, begin, store=store, account=account, settings=settings, declared=size)


@results.put("/submissions/{submission_id}/code-request")
def ask_for_code(submission_id: str, body: NewCodeRequest, acting: ActingOrganizer) -> CodeRequestView:
    """Request the code of a submission. Its team is notified and can attach or replace the code until the time in
    `until`, even after the competition's deadline. A later request replaces this one. Organizers only."""
    made = code_uploads.request_code(acting, submission_id, until=body.until, text=body.text)
    return CodeRequestView.model_validate(made)


@results.get("/submissions/{submission_id}/code", response_class=Response, responses=CODE)
def download(submission_id: str, acting: ActingReader, store: BlobStore) -> Response:
    """Download the code of a submission. For reviewers and organizers. The audit log records each download."""
    submission, code = code_uploads.load_code_for_download(acting, submission_id)
    name = f"entry-{submission.ref}-code{code_uploads.SUFFIXES[code.kind]}"
    headers = INERT_HEADERS | {
        "Cache-Control": "private, no-store",
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(code.bytes),
    }
    return StreamingResponse(
        read_chunks(store.open(code.blob_key)), media_type=CODE_MEDIA_TYPES[code.kind], headers=headers
    )
