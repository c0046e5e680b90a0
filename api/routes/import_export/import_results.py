"""Competitions that were held elsewhere."""

import hashlib
import io
from collections.abc import AsyncIterator
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from api.actions.zip_uploads import declared_bytes
from api.http.dependencies import Now, Organizer, Transaction, Transactions
from api.schemas.insights.insights import ImportView
from scorer.blobs import require_bytes
from scorer.db.tables import Account
from scorer.errors import Invalid
from scorer.identifiers import new_public_id
from scorer.import_export import import_results, results_csv
from scorer.import_export.import_results import ImportRequest, ImportResult

router = APIRouter(tags=["insights"])
MAX_CSV_BYTES = 1 << 27
"""A million entries and some: they are held in memory while they are taken in."""
MAX_MEMORY_BYTES = 1 << 20


@router.post("/competitions/{slug}/imports", status_code=201)
async def load(
    slug: str,
    asked: Annotated[ImportRequest, Query()],
    request: Request,
    response: Response,
    begin: Transactions,
    author: Organizer,
    now: Now,
) -> ImportView:
    """Take in a table of results of a competition that was held elsewhere; the body is the CSV itself, one entry a
    line: `submission_id`, `fid_public`, `fid_private`, `distance_public`, `distance_private`, and, where there are any,
    `labels`, `public_score`, `private_score` and `team`. The competition is made if there is none. The same table
    again adds nothing (200). Organizers only."""
    require_bytes(declared_bytes(request), MAX_CSV_BYTES)
    with SpooledTemporaryFile(MAX_MEMORY_BYTES) as file:
        sha256 = await _received(request.stream(), file)
        done = await run_in_threadpool(_load_results, begin, slug, file, sha256, asked, author, now)
    if not done.added:
        response.status_code = 200
    return ImportView.of(done)


def _load_results(
    begin: Transaction, slug: str, file: IO[bytes], sha256: str, asked: ImportRequest, author: Account, now: datetime
) -> ImportResult:
    sheet = _sheet(file, asked)
    with begin() as session:
        return import_results.import_table(
            session, slug, sheet, asked, table_sha256=sha256, author=author, now=now, new_id=new_public_id
        )


async def _received(chunks: AsyncIterator[bytes], file: IO[bytes]) -> str:
    digest, size = hashlib.sha256(), 0
    async for chunk in chunks:
        size += len(chunk)
        require_bytes(size, MAX_CSV_BYTES)
        digest.update(chunk)
        await run_in_threadpool(file.write, chunk)
    return digest.hexdigest()


def _sheet(file: IO[bytes], asked: ImportRequest) -> results_csv.ResultsTable:
    file.seek(0)
    with io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        try:
            return results_csv.read_results_csv(text, asked.names())
        except UnicodeDecodeError as error:
            raise Invalid("no-table", f"The file is not UTF-8: {error.reason} at byte {error.start:,}.") from None
