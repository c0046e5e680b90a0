"""Downloads of data files: streamed, or redirected to the blob store if participants can reach it."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from itertools import chain, zip_longest

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from api.http.ranges import BlobPart, Content, range_response
from scorer.archive import ZipEntry, zip_headers
from scorer.blobs import Blobs
from scorer.db.tables import DataFile

URL_LIFETIME = timedelta(hours=6)
"""How long a presigned address of the store works, and with it the resumption of a download."""


def download(request: Request, file: DataFile, store: Blobs, *, without_tls: bool = True) -> Response:
    """The file, or a redirect to its presigned address. ``without_tls`` also allows an ``http:`` address."""
    # Clients name the saved file after the address, so a blob with a different name is streamed.
    address = store.presigned_get(file.blob_key, URL_LIFETIME) if file.blob_key.endswith(f"/{file.name}") else None
    if address is not None and (without_tls or address.startswith("https:")):
        return RedirectResponse(address, 302, headers={"Cache-Control": "no-store"})
    return range_response(request, _content(file), store)


def _content(file: DataFile) -> Content:
    return Content(file.name, [BlobPart(file.blob_key, file.bytes)], file.sha256, file.created_at)


def download_all(request: Request, name: str, files: Sequence[DataFile], *, store: Blobs) -> Response:
    """All files as one uncompressed zip, built while it is sent. A single zip is sent unchanged."""
    if len(files) == 1 and files[0].name.endswith(".zip"):
        return range_response(request, _content(files[0]), store)
    entries = [ZipEntry(file.name, file.bytes, file.crc32, file.created_at) for file in files]
    contents = [BlobPart(file.blob_key, file.bytes) for file in files]
    headers = zip_headers(entries)
    parts = [part for part in chain.from_iterable(zip_longest(headers, contents)) if part is not None]
    digest = hashlib.sha256(b"".join(headers))
    for file in files:
        digest.update(bytes.fromhex(file.sha256))
    content = Content(name, parts, digest.hexdigest(), max(file.created_at for file in files))
    return range_response(request, content, store)
