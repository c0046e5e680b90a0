"""Data releases: creating, listing, publishing and downloading them. Imports of results."""

import hashlib
import io
import secrets
from collections.abc import AsyncIterator
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from api.http import ranges
from api.http.dependencies import (
    ActingOrganizer,
    ActingVisitor,
    AnyOrganizer,
    BlobStore,
    Now,
    Transaction,
    Transactions,
)
from api.http.paging import Paging
from api.http.ranges import BlobPart, Content
from api.http.received_blobs import declared_bytes
from api.http.request_bodies import streamed_body
from api.http.routing import ApiRouter
from api.import_export.views import HandOut, ImportView, NewRelease, ReleasePage, ReleaseView
from api.openapi.files import FILE, file_body
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.blobs import Blobs, require_bytes
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account, Release
from scorer.errors import Invalid
from scorer.identifiers import new_public_id
from scorer.import_export import data_release, import_results, results_csv
from scorer.import_export.data_release import GENERATORS_IN, IMAGES_IN, ReleaseImages, ReleaseStatus
from scorer.import_export.import_results import ImportRequest, ImportResult
from scorer.leaderboard import standings
from scorer.lifecycle import JobState

router = ApiRouter(prefix="/competitions/{slug}/releases", tags=["releases"])


def start_data_release(acting: Acting, state: CompetitionState, images: ReleaseImages, *, new_names: bool) -> Release:
    key = secrets.token_bytes(data_release.KEY_BYTES)
    return data_release.start_release(acting, state, images, new_names=new_names, public_id=new_public_id(), key=key)


@router.post("", status_code=202)
def start(slug: str, body: NewRelease, acting: ActingOrganizer) -> ReleaseView:
    """Start a data release, which a worker creates. Organizers only."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    release = start_data_release(acting, state, body.images, new_names=body.new_names)
    return _view(acting, state, release.id)


@router.get("")
def index(slug: str, acting: ActingVisitor, wanted: Paging) -> ReleasePage:
    """List the data releases that you can download. Everybody can download published releases while the final board is
    published; organizers can download all."""
    state = standings.visible_state(acting, slug)
    page = wanted.slice_all(data_release.visible_releases(acting.session, state, acting.actor))
    return ReleasePage(
        releases=[release_view(status, acting.actor) for status in page.rows], next_after=page.next_after
    )


@router.get("/{release_id}")
def show(slug: str, release_id: str, acting: ActingVisitor) -> ReleaseView:
    """Get the progress and files of a data release."""
    state = standings.visible_state(acting, slug)
    return _view(acting, state, release_id)


@router.put("/{release_id}/handed-out")
def hand_out(slug: str, release_id: str, body: HandOut, acting: ActingOrganizer) -> ReleaseView:
    """Publish a data release for everybody while the final board is published, or withdraw it. Organizers only."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    data_release.set_visibility(acting, state, release_id, shown=body.shown)
    return _view(acting, state, release_id)


@router.get("/{release_id}/files/{name}", response_class=Response, responses=FILE)
def download(
    slug: str, release_id: str, name: str, request: Request, acting: ActingVisitor, store: BlobStore
) -> Response:
    """Download a file of a data release, or a range of it. The files are `tables.zip` (everything except images), the
    tables, `README.md`, `croissant.json` and `manifest.json`."""
    return _file(acting, slug, release_id, name=name, request=request, store=store)


@router.get("/{release_id}/files/images/{name}", response_class=Response, responses=FILE)
def download_images(
    slug: str, release_id: str, name: str, request: Request, acting: ActingVisitor, store: BlobStore
) -> Response:
    """Download the images of a submission (`SUBMISSION.zip`), or a range of the file."""
    return _file(acting, slug, release_id, name=f"{IMAGES_IN}{name}", request=request, store=store)


@router.get("/{release_id}/files/generators/{name}", response_class=Response, responses=FILE)
def download_generator(
    slug: str, release_id: str, name: str, request: Request, acting: ActingVisitor, store: BlobStore
) -> Response:
    """Download the generator of a submission (`SUBMISSION.onnx`), or a range of the file."""
    return _file(acting, slug, release_id, name=f"{GENERATORS_IN}{name}", request=request, store=store)


def _file(
    acting: Acting[Account | None], slug: str, release_id: str, *, name: str, request: Request, store: Blobs
) -> Response:
    state = standings.visible_state(acting, slug)
    status = data_release.find_release(acting.session, state, release_id, account=acting.actor)
    key, file = data_release.find_release_file(status, name)
    release = status.release
    file_name = f"{release.competition.slug}-{release.id}-{name.replace('/', '-')}"
    modified = release.finished_at or release.created_at
    content = Content(file_name, [BlobPart(key, file["bytes"])], file["sha256"], modified)
    return ranges.range_response(request, content, store)


def _view(acting: Acting[Account | None], state: CompetitionState, release_id: str) -> ReleaseView:
    status = data_release.find_release(acting.session, state, release_id, account=acting.actor)
    return release_view(status, acting.actor)


def release_view(status: ReleaseStatus, account: Account | None) -> ReleaseView:
    """A release for this account; only organizers see errors."""
    release = status.release
    job = status.job
    shows_error = is_organizer(account, release.competition_id) and status.state != JobState.DONE
    return ReleaseView.of(
        release,
        state=status.state,
        stage=job.stage if job else None,
        fraction=job.fraction if job else None,
        error=job.error if job and shows_error else None,
        shown=status.shown,
        files=release.files or [],
    )


results = ApiRouter(tags=["insights"])
TABLE = file_body("The table of results.", media_type="text/csv")
MAX_CSV_BYTES = 1 << 27
"""Enough for a million entries. They are in memory during the import."""
MAX_MEMORY_BYTES = 1 << 20


@results.post("/competitions/{slug}/imports", status_code=201, openapi_extra=TABLE)
async def load(
    slug: str,
    options: Annotated[ImportRequest, Query()],
    request: Request,
    response: Response,
    begin: Transactions,
    author: AnyOrganizer,
    now: Now,
) -> ImportView:
    """Import the results of a competition that was held elsewhere. The request body is a CSV with one submission per
    line. The columns are `submission_id`, `fid_public`, `fid_private`, `distance_public`, `distance_private`, and
    optionally `labels`, `public_score`, `private_score` and `team`. If the competition does not exist, it is created.
    Importing the same table again adds nothing (200). Organizers only."""
    require_bytes(declared_bytes(request), MAX_CSV_BYTES)
    with SpooledTemporaryFile(MAX_MEMORY_BYTES) as file:
        sha256 = await _received(streamed_body(request, author.id), file)
        result = await run_in_threadpool(
            _load_results, begin, slug, file, sha256=sha256, options=options, author=author, now=now
        )
    if not result.added:
        response.status_code = 200
    return ImportView.of(result, competition=result.state.competition.slug)


def _load_results(
    begin: Transaction,
    slug: str,
    file: IO[bytes],
    *,
    sha256: str,
    options: ImportRequest,
    author: Account,
    now: datetime,
) -> ImportResult:
    table = _table(file, options)
    with begin() as session:
        return import_results.import_table(
            Acting(session, author, now), slug, table, request=options, table_sha256=sha256, new_id=new_public_id
        )


async def _received(chunks: AsyncIterator[bytes], file: IO[bytes]) -> str:
    digest = hashlib.sha256()
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        require_bytes(size, MAX_CSV_BYTES)
        digest.update(chunk)
        await run_in_threadpool(file.write, chunk)
    return digest.hexdigest()


def _table(file: IO[bytes], options: ImportRequest) -> results_csv.ResultsTable:
    file.seek(0)
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        try:
            return results_csv.read_results_csv(text, options.names())
        except UnicodeDecodeError as error:
            raise Invalid("no-table", f"The file is not UTF-8: {error.reason} at byte {error.start:,}.") from None
