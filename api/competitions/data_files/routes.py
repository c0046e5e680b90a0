"""Data files, which organizers offer and participants download."""

import secrets
from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from api.competitions.data_files.downloads import download
from api.competitions.views import DataFilePage, DataFileView
from api.http.dependencies import (
    ActingOrganizer,
    ActingReader,
    ActingVisitor,
    AppSettings,
    BlobStore,
    Now,
    Organizer,
    Transaction,
    Transactions,
)
from api.http.paging import Paging
from api.http.received_blobs import declared_bytes, receive_blob, require_clean
from api.http.request_bodies import streamed_body
from api.http.routing import ApiRouter
from api.openapi.files import FILE, file_body
from scorer.acting import Acting
from scorer.blobs import ReceivedBlob, require_bytes
from scorer.competitions import competition_state, data_files
from scorer.db.tables import DataFile
from scorer.leaderboard import standings

router = ApiRouter(prefix="/competitions/{slug}/data", tags=["data files"])


@router.get("")
def index(slug: str, acting: ActingVisitor, wanted: Paging) -> DataFilePage:
    """List the files of a competition, such as training images and a sample submission. For anyone who can see the
    competition."""
    state = standings.visible_state(acting, slug)
    page = wanted.slice_all(state.files)
    return DataFilePage(files=[_view(slug, file) for file in page.rows], next_after=page.next_after)


@router.get("/{name}", response_class=Response, responses=FILE)
def show(slug: str, name: str, request: Request, acting: ActingReader, store: BlobStore) -> Response:
    """Download a file. You need to accept the rules first. `Range` and `If-Range` resume an interrupted download."""
    state = standings.visible_state(acting, slug)
    return download(request, data_files.find_file(acting.session, state, name, account=acting.actor), store)


@router.put("/{name}", openapi_extra=file_body("The file. Leave it out with `source=train`.", is_required=False))
async def offer(
    slug: str,
    name: str,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    settings: AppSettings,
    author: Organizer,
    now: Now,
    source: Annotated[
        Literal["body", "train"], Query(description="`train` offers the attached training images.")
    ] = "body",
) -> DataFileView:
    """Offer a file to participants. The request body is the file. To offer the attached training images, leave the body
    empty and set `source=train`. The file replaces an earlier one with the same name."""
    data_files.require_name(name)
    if source == "train":
        return await run_in_threadpool(_offer_training, slug, name, begin, store=store, author=author, now=now)
    limit = settings.max_upload_bytes
    require_bytes(declared_bytes(request), limit)

    def accept(received: ReceivedBlob, _: datetime) -> tuple[DataFileView, None]:
        require_clean(store, received, settings)
        return _offer(slug, name, received, begin=begin, store=store, author=author, now=now), None

    key = f"data/{secrets.token_hex(8)}/{name}"
    return await receive_blob(store, key, streamed_body(request, author.id), limit=limit, accept=accept)


def _offer_training(
    slug: str, name: str, begin: Transaction, *, store: BlobStore, author: Organizer, now: Now
) -> DataFileView:
    with begin() as session:
        images = data_files.training_images(session, competition_state.load_state(session, slug, now))
    return _offer(slug, name, images, begin=begin, store=store, author=author, now=now)


def _offer(
    slug: str, name: str, file: ReceivedBlob, *, begin: Transaction, store: BlobStore, author: Organizer, now: datetime
) -> DataFileView:
    crc32 = store.crc32(file.key)
    with begin() as session:
        state = competition_state.load_state(session, slug, now)
        return _view(slug, data_files.offer_file(Acting(session, author, now), state, name, received=file, crc32=crc32))


@router.delete("/{name}", status_code=204)
def withdraw(slug: str, name: str, acting: ActingOrganizer) -> None:
    """Stop offering a file."""
    data_files.withdraw(acting, competition_state.load_state(acting.session, slug, acting.now), name)


def _view(slug: str, file: DataFile) -> DataFileView:
    url = f"/api/v1/competitions/{slug}/data/{file.name}"
    return DataFileView(name=file.name, bytes=file.bytes, sha256=file.sha256, offered_at=file.created_at, url=url)
