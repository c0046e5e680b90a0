"""Files of a submission: the sprite sheet of its images, and attached code."""

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from api.actions.code_uploads import CODE_MEDIA_TYPES, store_code
from api.actions.zip_uploads import declared_bytes
from api.http.dependencies import (
    AppSettings,
    BlobStore,
    CurrentUser,
    DbSession,
    Now,
    Organizer,
    Submitter,
    Transactions,
)
from api.http.etags import etag_of, is_known
from api.http.ranges import chunks_of
from api.http.request_bodies import streamed_body
from api.http.security_headers import IMMUTABLE_IMAGE_HEADERS, INERT_HEADERS
from api.openapi.files import PICTURE, file_answer, file_body
from api.routing import Router
from api.schemas.announcements import CodeRequestView, NewCodeRequest
from api.schemas.submissions.submissions import CodeView
from scorer.evidence import code_requests, code_uploads
from scorer.submissions import access, files

router = Router(tags=["results"])
CODE = file_answer(*CODE_MEDIA_TYPES.values())


@router.get("/submissions/{submission_id}/sprite", response_class=Response, responses=PICTURE)
def sprite(
    submission_id: str, request: Request, session: DbSession, store: BlobStore, account: CurrentUser
) -> Response:
    """Small versions of up to 100 of the entry's images in one PNG, ten in a row; for its team, reviewers and
    organizers."""
    key = files.sprite_key(access.find_with_rulings(session, submission_id, account)[0])
    headers = IMMUTABLE_IMAGE_HEADERS | INERT_HEADERS | {"ETag": etag_of(key)}
    if is_known(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(store.read(key), media_type="image/png", headers=headers)


@router.put(
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
    """Attach the code that made the entry, for its reviewers: the body is a zip or a notebook of at most 20 MB. It can
    be replaced until the close, or until the time by which organizers ask for it."""
    size = declared_bytes(request)
    body = streamed_body(request, account.id)
    return await store_code(submission_id, body, begin, store, account, settings, declared=size)


@router.put("/submissions/{submission_id}/code-request")
def ask_for_code(
    submission_id: str, body: NewCodeRequest, session: DbSession, author: Organizer, now: Now
) -> CodeRequestView:
    """Ask the team for the code of its entry: it is told, and may attach or replace it until then, though the
    competition has closed. A later request replaces this one. Organizers only."""
    made = code_requests.request_code(session, submission_id, until=body.until, text=body.text, author=author, now=now)
    return CodeRequestView.model_validate(made, from_attributes=True)


@router.get("/submissions/{submission_id}/code", response_class=Response, responses=CODE)
def download(submission_id: str, session: DbSession, store: BlobStore, account: CurrentUser, now: Now) -> Response:
    """The attached code of an entry; for reviewers and organizers. The audit log keeps who has downloaded it."""
    submission, code = code_uploads.hand_out_code(session, submission_id, account, now=now)
    name = f"entry-{submission.ref}-code{code_uploads.SUFFIXES[code.kind]}"
    headers = INERT_HEADERS | {
        "Cache-Control": "private, no-store",
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(code.bytes),
    }
    return StreamingResponse(
        chunks_of(store.open(code.blob_key)), media_type=CODE_MEDIA_TYPES[code.kind], headers=headers
    )
