"""The list of a team's entries with its final picks, and the page of an entry with its results."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.evidence.generators.uploads import receive_generator
from api.evidence.sections import build_evidence_sections, build_generator_section
from api.http.dependencies import (
    ActingReader,
    ActingSignedIn,
    AppSettings,
    BlobStore,
    KnownViewer,
    Now,
    SignedIn,
    Transaction,
    Transactions,
    Uploader,
    Viewer,
    ZipImages,
    utc_now,
)
from api.http.etags import compute_etag, is_known
from api.http.forms import FormFields, refusal_on, text
from api.http.multipart import page_form
from api.http.problem_details import choose_status
from api.http.routing import Router
from api.http.transactions import in_transaction
from api.rendering.charts.histogram import build_histogram
from api.rendering.templates import BUILD_DIGEST, not_modified, render_page, see_other
from api.review.rulings.sections import build_rulings_section
from api.submissions.file_uploads import store_code
from api.submissions.views import SubmissionView, submission_view, submission_views
from scorer.accounts.roles import is_organizer, is_reviewer
from scorer.acting import Acting
from scorer.archive.sprite_sheet import compute_layout
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db.submissions.submissions import own_refs
from scorer.db.tables import Submission
from scorer.db.teams import members
from scorer.errors import KennelError
from scorer.evidence import code_uploads
from scorer.evidence.images import StoredImages
from scorer.lifecycle import CANCELLABLE, PENDING, PICKABLE, STAGES
from scorer.review import rebuttals
from scorer.submissions import access, outcomes
from scorer.teams import final_picks
from scorer.teams.final_picks import FinalEntries

router = Router(include_in_schema=False)
PAGE_SIZE = 50
MAX_ID_LENGTH = 100
BeforeRef = Annotated[int | None, Query(ge=1, le=2**62)]


@router.api_route("/submissions/{submission_id}", methods=["GET", "HEAD"])
def show_submission(
    submission_id: str, request: Request, acting: ActingReader, images: ZipImages, viewer: KnownViewer
) -> Response:
    values = _entry(acting, images, submission_id, viewer=viewer)
    etag = _compute_entry_etag(values, viewer, acting.now)
    if is_known(request, etag):
        return not_modified(etag)
    return render_page("submissions/show.html", headers={"ETag": etag}, viewer=viewer, now=acting.now, **values)


def _compute_entry_etag(values: dict[str, Any], viewer: Viewer, now: datetime) -> str:
    """A hash of everything on the page. It also changes every minute because the page shows relative times."""
    competition = values["competition"]
    columns = [getattr(competition, column.key) for column in type(competition).__table__.columns]
    content = (
        values["view"].model_dump_json(),
        values["state"].phase,
        *(values[name] for name in ("own", "may_review", "may_attach", "pick", "exhibits", "case", "generator")),
    )
    viewer_parts = viewer.csrf, viewer.account.handle, viewer.unread
    return compute_etag(BUILD_DIGEST, viewer_parts, columns, content, now.replace(second=0, microsecond=0))


def _entry(acting: Acting, images: StoredImages, submission_id: str, *, viewer: Viewer) -> dict[str, Any]:
    session, now = acting.session, acting.now
    submission = access.find_submission(session, submission_id, viewer.account)
    state = competition_state.load_state(session, submission.competition.slug, now)
    view = submission_view(session, submission, viewer.account)
    own = access.is_own(session, submission, viewer.account)
    finals = _finals(session, state, viewer) if own else None
    return {
        "competition": state.competition,
        "state": state,
        "view": view,
        "own": own,
        "may_review": is_reviewer(viewer.account, submission.competition_id),
        "stage": STAGES.get(view.stage or "", view.stage),
        "pending": view.status in PENDING,
        "own_pending": (own or submission.account_id == viewer.account.id) and view.status in PENDING,
        "may_cancel": view.status in CANCELLABLE,
        "may_attach": own and code_uploads.takes_code(session, state, submission, now=now),
        "generator": build_generator_section(acting, submission),
        "pick": _pick_kind(finals, view.id),
        "sprite": compute_layout(state.competition.image_count, state.competition.image_size),
        "exhibits": build_evidence_sections(session, submission, viewer.account) if state.published else [],
        "case": build_rulings_section(acting, images, state, submission=submission),
        "drawings": [
            build_histogram(measurement.histogram, measurement.memorization_distance, measurement.tau)
            for measurement in view.measurements
        ],
    }


def _pick_kind(finals: FinalEntries | None, submission_id: str) -> str | None:
    """``picked`` for a final pick, ``standing`` for a best entry of a team without picks, otherwise None."""
    if finals is None or submission_id not in [pick.id for pick in finals.picks]:
        return None
    return "picked" if finals.chosen else "standing"


@router.post("/submissions/{submission_id}/code")
async def upload_code(
    submission_id: str,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    images: ZipImages,
    settings: AppSettings,
    viewer: Uploader,
) -> Response:
    try:
        async with page_form(request, viewer.account.id, max_bytes=settings.max_upload_bytes) as form:
            await store_code(submission_id, form.chunks, begin, store=store, account=viewer.account, settings=settings)
    except KennelError as error:
        return await run_in_threadpool(
            _refused_upload, submission_id, begin, images, viewer=viewer, error=error, place="code"
        )
    return see_other(f"/submissions/{submission_id}#code")


def _refused_upload(
    submission_id: str, begin: Transaction, images: StoredImages, *, viewer: Viewer, error: KennelError, place: str
) -> Response:
    page = in_transaction(begin, _entry_page)
    status = choose_status(error)
    return page(submission_id, images, viewer=viewer, now=utc_now(), status=status, error=error.message, place=place)


def _entry_page(
    session: Session, /, submission_id: str, images: StoredImages, *, viewer: Viewer, now: datetime, **outcome: Any
) -> Response:
    return _render_entry(Acting(session, viewer.account, now), images, submission_id, viewer=viewer, **outcome)


@router.post("/submissions/{submission_id}/generator")
async def upload_generator(
    submission_id: str,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    images: ZipImages,
    settings: AppSettings,
    viewer: Uploader,
) -> Response:
    try:
        await receive_generator(submission_id, request, begin, store=store, account=viewer.account, settings=settings)
    except KennelError as error:
        return await run_in_threadpool(
            _refused_upload, submission_id, begin, images, viewer=viewer, error=error, place="generator"
        )
    return see_other(f"/submissions/{submission_id}#generator")


def _render_entry(
    acting: Acting, images: StoredImages, submission_id: str, *, viewer: Viewer, **outcome: Any
) -> Response:
    values = _entry(acting, images, submission_id, viewer=viewer)
    return render_page("submissions/show.html", viewer=viewer, now=acting.now, **outcome, **values)


@router.post("/submissions/{submission_id}/cancel")
def cancel_submission(submission_id: str, acting: ActingSignedIn, images: ZipImages, viewer: SignedIn) -> Response:
    with refusal_on(_render_entry, acting, images, submission_id, viewer=viewer, place="cancel"):
        outcomes.cancel(acting, submission_id)
    return see_other(f"/submissions/{submission_id}")


@router.post("/submissions/{submission_id}/rebuttal")
def submit_rebuttal(
    submission_id: str, fields: FormFields, begin: Transactions, images: ZipImages, viewer: SignedIn, now: Now
) -> Response:
    page = in_transaction(begin, _entry_page)
    with refusal_on(page, submission_id, images, viewer=viewer, now=now, place="rebuttal"), begin() as session:
        rebuttal = text(fields, "text", max_length=rebuttals.MAX_TEXT_LENGTH)
        rebuttals.rebut(Acting(session, viewer.account, now), submission_id, rebuttal)
    return see_other(f"/submissions/{submission_id}#ruling")


@router.api_route("/competitions/{slug}/entries", methods=["GET", "HEAD"])
def list_submissions(slug: str, acting: ActingReader, viewer: KnownViewer, before: BeforeRef = None) -> Response:
    return _entries(acting, slug, viewer, before=before)


def _entries(acting: Acting, slug: str, viewer: Viewer, *, before: int | None = None, **outcome: Any) -> Response:
    session, now = acting.session, acting.now
    state = competition_state.visible_state(acting, slug)
    newest = access.list_submissions(session, state, viewer.account, before=before, limit=PAGE_SIZE + 1)
    page = newest[:PAGE_SIZE]
    finals = _finals(session, state, viewer)
    return render_page(
        "submissions/list.html",
        viewer=viewer,
        now=now,
        state=state,
        lines=_submission_rows(session, page, viewer, finals=finals),
        finals=finals,
        elsewhere=[pick for pick in finals.picks if pick.ref not in {one.ref for one in page}] if finals else [],
        may_pick=finals is not None and final_picks.can_be_changed(state, now),
        picks_until=competition_state.grace_end(state.competition),
        everybody=is_organizer(viewer.account, state.competition.id),
        next=page[-1].ref if len(newest) > PAGE_SIZE else None,
        before=before,
        **outcome,
    )


def _finals(session: Session, state: CompetitionState, viewer: Viewer) -> FinalEntries | None:
    team = members.load_team(session, state.competition.id, viewer.account.id)
    return None if team is None else final_picks.load_final_entries(session, state, team)


def _submission_rows(
    session: Session, submissions: Sequence[Submission], viewer: Viewer, *, finals: FinalEntries | None
) -> list[tuple[SubmissionView, str | None, bool]]:
    """For each entry: the view, the result of :func:`_pick_kind`, and whether it can be picked."""
    rows = []
    refs = [submission.ref for submission in submissions]
    own = own_refs(session, refs, viewer.account.id) if finals is not None else ()
    views = submission_views(session, submissions, viewer.account)
    for submission, view in zip(submissions, views, strict=True):
        can_be_picked = submission.ref in own and submission.status in PICKABLE and not submission.late
        rows.append((view, _pick_kind(finals, submission.id), can_be_picked))
    return rows


@router.post("/competitions/{slug}/picks")
def choose_final_picks(slug: str, fields: FormFields, acting: ActingSignedIn, viewer: SignedIn) -> Response:
    wanted = [value[:MAX_ID_LENGTH] for value in fields.getlist("pick")]
    with refusal_on(_entries, acting, slug, viewer):
        final_picks.pick(acting, slug, wanted)
    return see_other(f"/competitions/{slug}/entries#picks")
