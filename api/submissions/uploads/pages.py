"""The upload page. A script resumes interrupted uploads; without scripts, a plain form works."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import get_args

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from api.http.dependencies import (
    ActingSignedIn,
    AppSettings,
    BlobStore,
    SignedIn,
    Transaction,
    Transactions,
    Uploader,
    Viewer,
    utc_now,
)
from api.http.latents import parse_latent
from api.http.multipart import page_form
from api.http.problem_details import choose_status, error_headers
from api.http.routing import Router
from api.http.security_headers import PAGE_HEADERS
from api.rendering import formatting, templates
from api.rendering.quota import describe_quota
from api.submissions.file_uploads import EntryUpload
from api.submissions.uploads.views import MAX_NAME_LENGTH, MAX_NOTE_LENGTH
from scorer.acting import Acting
from scorer.competitions import rules
from scorer.competitions.competition_state import grace_end, takes_late, visible_state
from scorer.competitions.spec import DrawSpec
from scorer.db.tables import Submission
from scorer.errors import Invalid, KennelError
from scorer.generators.onnx_files import Distribution
from scorer.lifecycle import Phase
from scorer.settings import Settings
from scorer.submissions import intake, uploads
from scorer.submissions.intake import NewSubmission
from scorer.teams import quotas, storage

router = Router(include_in_schema=False)


@router.api_route("/competitions/{slug}/submit", methods=["GET", "HEAD"])
def show_submit_form(slug: str, acting: ActingSignedIn, settings: AppSettings, viewer: SignedIn) -> Response:
    return _page(acting, settings, slug, viewer=viewer)


def _page(
    acting: Acting,
    settings: Settings,
    slug: str,
    *,
    viewer: Viewer,
    error: KennelError | None = None,
    typed: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    session, now = acting.session, acting.now
    state = visible_state(acting, slug)
    limits = storage.build_upload_limits(settings)
    try:
        intake.admit(acting, slug, NewSubmission(""), declared_bytes=None, limits=limits)
        closed = None
    except KennelError as refusal:
        closed = refusal
    may_enter = state.phase is Phase.OPEN or takes_late(state, now)
    unfinished = uploads.list_open_uploads(acting, state)
    return templates.render_page(
        "submissions/uploads/submit.html",
        status=200 if error is None else choose_status(error),
        headers={"Cache-Control": "no-store", **(error_headers(error) if error is not None else {})},
        viewer=viewer,
        state=state,
        deadline=formatting.deadline(state, now),
        rules_sha256=rules.compute_rules_version(state.competition),
        quota=describe_quota(quotas.load_quota(session, state, viewer.account, now=now)) if may_enter else None,
        closed=closed if error is None else None,
        takes_files=error is not None or closed is None or (closed.slug == "closed" and bool(unfinished)),
        unfinished=unfinished,
        finish_until=grace_end(state.competition),
        error=error,
        typed=typed,
        draws=DrawSpec(**state.competition.draws) if state.competition.entries == "generator" else None,
        distributions=get_args(Distribution),
        max_note_length=MAX_NOTE_LENGTH,
        max_bytes=intake.upload_limit(state, limits),
        storage=storage.load_usage(acting, state.competition),
        storage_limit=limits.team,
        now=now,
    )


@router.post("/competitions/{slug}/submit")
async def submit_file(
    slug: str,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    settings: AppSettings,
    viewer: Uploader,
) -> Response:
    typed: dict[str, str] = {}
    begun = utc_now()
    try:
        async with page_form(request, viewer.account.id, max_bytes=settings.max_upload_bytes) as form:
            typed = form.fields
            path = await EntryUpload(begin, store, settings).submit(
                slug,
                _parse_entry(form.file_name, typed),
                viewer.account,
                chunks=form.chunks,
                declared=None,
                build_view=lambda _, submission: _build_path(submission, begun),
            )
    except KennelError as error:
        return await run_in_threadpool(_page_with_error, begin, settings, slug, viewer=viewer, error=error, typed=typed)
    return RedirectResponse(path, 303, headers=PAGE_HEADERS)


def _build_path(submission: Submission, begun: datetime) -> str:
    return f"/submissions/{submission.id}{'#same-file' if submission.accepted_at < begun else ''}"


def _parse_entry(file_name: str, fields: Mapping[str, str]) -> NewSubmission:
    note = fields.get("note", "").strip()
    if len(note) > MAX_NOTE_LENGTH:
        raise Invalid("too-long", f"The note has {len(note):,} characters; the limit is {MAX_NOTE_LENGTH:,}.")
    return NewSubmission(file_name[-MAX_NAME_LENGTH:], note, latent=parse_latent(fields))


def _page_with_error(
    begin: Transaction, settings: Settings, slug: str, *, viewer: Viewer, error: KennelError, typed: Mapping[str, str]
) -> Response:
    with begin() as session:
        acting = Acting(session, viewer.account, utc_now())
        return _page(acting, settings, slug, viewer=viewer, error=error, typed=typed)
