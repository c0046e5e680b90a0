"""Imports the results of a competition that was held elsewhere, as CSV."""

import hashlib
import io
from collections.abc import AsyncIterator
from datetime import datetime
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated

from fastapi import Query, Request, Response
from fastapi.concurrency import run_in_threadpool

from api.actions.zip_uploads import declared_bytes
from api.http.dependencies import AnyOrganizer, Now, Transaction, Transactions
from api.http.request_bodies import streamed_body
from api.openapi.files import file_body
from api.routing import Router
from api.schemas.insights.insights import ImportView
from scorer.blobs import require_bytes
from scorer.db.tables import Account
from scorer.errors import Invalid
from scorer.identifiers import new_public_id
from scorer.import_export import import_results, results_csv
from scorer.import_export.import_results import ImportRequest, ImportResult

router = Router(tags=["insights"])
TABLE = file_body("The table.", media_type="text/csv")
MAX_CSV_BYTES = 1 << 27
"""Over a million entries; they are held in memory during the import."""
MAX_MEMORY_BYTES = 1 << 20


@router.post("/competitions/{slug}/imports", status_code=201, openapi_extra=TABLE)
async def load(
    slug: str,
    options: Annotated[ImportRequest, Query()],
    request: Request,
    response: Response,
    begin: Transactions,
    author: AnyOrganizer,
    now: Now,
) -> ImportView:
    """Import the results of a competition that was held elsewhere. The body is the CSV itself, one entry a line:
    `submission_id`, `fid_public`, `fid_private`, `distance_public`, `distance_private`, and optionally `labels`,
    `public_score`, `private_score` and `team`. The competition is made if there is none. Importing the same table again
    adds nothing (200). Organizers only."""
    require_bytes(declared_bytes(request), MAX_CSV_BYTES)
    with SpooledTemporaryFile(MAX_MEMORY_BYTES) as file:
        sha256 = await _received(streamed_body(request, author.id), file)
        result = await run_in_threadpool(_load_results, begin, slug, file, sha256, options, author, now)
    if not result.added:
        response.status_code = 200
    return ImportView.of(result)


def _load_results(
    begin: Transaction, slug: str, file: IO[bytes], sha256: str, options: ImportRequest, author: Account, now: datetime
) -> ImportResult:
    table = _table(file, options)
    with begin() as session:
        return import_results.import_table(
            session, slug, table, options, table_sha256=sha256, author=author, now=now, new_id=new_public_id
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
