"""One's own results: final picks, the picture of one's images, attached code."""

import secrets
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from typing import BinaryIO

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from api.actions.zip_uploads import declared_bytes, receive_blob
from api.http.dependencies import BlobStore, CurrentUser, DbSession, Now, Submitter, Transaction, Transactions
from api.http.dependencies import utc_now as moment
from api.http.etags import etag_of, is_known
from api.schemas.submissions.submissions import CodeView, code_view
from api.schemas.teams import NewPicks, PicksView
from scorer.blobs import Blobs, ReceivedBlob, require_bytes
from scorer.competitions import competition_state
from scorer.competitions.competition_state import CompetitionState
from scorer.db.tables import Account
from scorer.evidence import code_uploads
from scorer.submissions import access, files
from scorer.teams import final_picks
from scorer.teams.final_picks import FinalEntries

router = APIRouter(tags=["results"])
CODE_MEDIA = {"zip": "application/zip", "notebook": "application/x-ipynb+json"}
INERT = {"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "default-src 'none'; sandbox"}
"""What somebody else made is never run by the browser of whoever looks at it."""
OWN = {"Cache-Control": "private, max-age=31536000, immutable", "Vary": "Authorization, Cookie"}
"""An entry never changes, so neither does its picture; another person at the same browser asks anew."""
CHUNK = 1 << 18


@router.get("/competitions/{slug}/picks")
def show_picks(slug: str, session: DbSession, account: CurrentUser, now: Now) -> PicksView:
    """What your team will be ranked by: its picks, or its best public entries."""
    state = competition_state.visible_state(session, slug, account, now)
    team = final_picks.own_team(session, state, account)
    return _picks(state, final_picks.final_entries_of(session, state, team))


@router.put("/competitions/{slug}/picks")
def pick(slug: str, body: NewPicks, session: DbSession, account: Submitter, now: Now) -> PicksView:
    """Pick the entries that your team will be ranked by, until the close. An empty list takes the choice back."""
    state = competition_state.visible_state(session, slug, account, now)
    return _picks(state, final_picks.pick(session, state, body.submissions, account=account, now=now))


def _picks(state: CompetitionState, finals: FinalEntries) -> PicksView:
    chosen = finals.chosen
    return PicksView(
        submissions=[each.id for each in finals.picks],
        chosen=chosen is not None,
        most=state.competition.final_picks,
        until=state.competition.closes_at,
        picked_by=chosen.author.handle if chosen else None,
        picked_at=chosen.created_at if chosen else None,
    )


@router.get("/submissions/{submission_id}/sprite", response_class=Response)
def sprite(
    submission_id: str, request: Request, session: DbSession, store: BlobStore, account: CurrentUser
) -> Response:
    """Small versions of up to 100 of the entry's images in one PNG, ten in a row; for its team and those who judge."""
    key = files.sprite_key(access.find_with_rulings(session, submission_id, account)[0])
    headers = OWN | INERT | {"ETag": etag_of(key)}
    if is_known(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(store.read(key), media_type="image/png", headers=headers)


@router.put("/submissions/{submission_id}/code")
async def attach(
    submission_id: str, request: Request, begin: Transactions, store: BlobStore, account: Submitter
) -> CodeView:
    """Attach the code that made the entry, for its reviewers: a zip or a notebook of at most 20 MB is the body itself.
    Until the close it may be replaced."""
    size = declared_bytes(request)
    return await attach_code(submission_id, request.stream(), begin, store, account, declared=size)


async def attach_code(
    submission_id: str,
    chunks: AsyncIterator[bytes],
    begin: Transaction,
    store: Blobs,
    account: Account,
    *,
    declared: int | None = None,
) -> CodeView:
    """Store a stream as an entry's code, in place of earlier code."""

    def admit(now: datetime) -> None:
        with begin() as session:
            code_uploads.require_code_change(session, submission_id, account, now)

    require_bytes(declared, code_uploads.MAX_CODE_BYTES)
    await run_in_threadpool(admit, moment())
    key = f"code/{submission_id}/{secrets.token_hex(8)}"

    def accept(received: ReceivedBlob, now: datetime) -> tuple[CodeView, str | None]:
        with store.open(received.key) as file:
            kind = code_uploads.kind_of(file)
        with begin() as session:
            kept, replaced = code_uploads.attach_code(session, submission_id, received, kind, account=account, now=now)
            return code_view(kept), replaced.blob_key if replaced is not None else None

    return await receive_blob(store, key, chunks, limit=code_uploads.MAX_CODE_BYTES, accept=accept)


@router.get("/submissions/{submission_id}/code", response_class=Response)
def download(submission_id: str, session: DbSession, store: BlobStore, account: CurrentUser) -> Response:
    """The code of an entry; for reviewers and organizers."""
    submission, code = code_uploads.find_code(session, submission_id, account)
    name = f"entry-{submission.ref}-code{code_uploads.SUFFIXES[code.kind]}"
    headers = INERT | {
        "Cache-Control": "private, no-store",
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Length": str(code.bytes),
    }
    return StreamingResponse(_chunks(store.open(code.blob_key)), media_type=CODE_MEDIA[code.kind], headers=headers)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK):
            yield chunk
