"""A competition's data files: listed, and downloaded by a redirect, as the client expects."""

from urllib.parse import quote

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from api.competitions.data_files.downloads import download, download_all
from api.http.dependencies import BlobStore, DbSession, Now
from api.kaggle.protocol import KaggleRouter, Reader
from api.kaggle.schemas import CompetitionRequest, DataFileMessage, DataFileRequest, DataFilesResponse, PageRequest
from scorer.competitions import competition_state, data_files
from scorer.db.tables import DataFile

router = KaggleRouter()
SERVICE = "/competitions.CompetitionApiService"


@router.post(f"{SERVICE}/ListDataFiles")
def list_data_files(body: PageRequest, session: DbSession, account: Reader, now: Now) -> DataFilesResponse:
    """A page of the files, by name."""
    state = competition_state.visible_state(session, body.competition_name, account, now)
    begin = int(body.page_token or 0)
    files = state.files[begin:]
    page = files[: body.page_size]
    return DataFilesResponse(
        files=[_message_of(each) for each in page],
        next_page_token=str(begin + len(page)) if len(files) > len(page) else "",
    )


def _message_of(file: DataFile) -> DataFileMessage:
    return DataFileMessage(ref=file.name, name=file.name, total_bytes=file.bytes, creation_date=file.created_at)


@router.post(f"{SERVICE}/DownloadDataFile")
def redirect_to_data_file(body: DataFileRequest, session: DbSession, account: Reader, now: Now) -> Response:
    """A redirect to a file. Its address has no host, so the client uses the same host and sends the same token."""
    state = competition_state.visible_state(session, body.competition_name, account, now)
    file = data_files.find_file(session, state, body.file_name, account)
    return _redirect_to(f"/api/v1/kaggle/files/{state.competition.slug}/{quote(file.name)}")


@router.post(f"{SERVICE}/DownloadDataFiles")
def redirect_to_data_files(body: CompetitionRequest, session: DbSession, account: Reader, now: Now) -> Response:
    """A redirect to all files as one zip."""
    state = competition_state.visible_state(session, body.competition_name, account, now)
    data_files.downloadable_files(session, state, account)
    return _redirect_to(f"/api/v1/kaggle/bundles/{state.competition.slug}.zip")


def _redirect_to(path: str) -> RedirectResponse:
    return RedirectResponse(path, 302, headers={"Cache-Control": "no-store"})


@router.get("/kaggle/files/{slug}/{name}")
def download_data_file(
    slug: str, name: str, request: Request, session: DbSession, store: BlobStore, account: Reader, now: Now
) -> Response:
    """A file, or a range of it."""
    state = competition_state.visible_state(session, slug, account, now)
    file = data_files.find_file(session, state, name, account)
    # A client with ``http_proxy`` pointing at us would send us requests for the store's host, too, unless by https.
    return download(request, file, store, without_tls=False)


@router.get("/kaggle/bundles/{slug}.zip")
def download_data_files(
    slug: str, request: Request, session: DbSession, store: BlobStore, account: Reader, now: Now
) -> Response:
    """All files as one zip, or a range of it."""
    state = competition_state.visible_state(session, slug, account, now)
    return download_all(request, f"{slug}.zip", data_files.downloadable_files(session, state, account), store)
