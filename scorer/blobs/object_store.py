"""The object store: opening it, its errors as :mod:`scorer.errors`, and presigned URLs for a body of a fixed length.

obstore's presigned URLs accept a body of any length, so anybody with such a URL could fill the store.
"""

import hashlib
import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from obstore.exceptions import BaseError, NotFoundError
from obstore.store import LocalStore, ObjectStore, from_url

from scorer.errors import NotFound, OutOfSpace, StoreUnavailable

ABSENT = (FileNotFoundError, NotFoundError)
"""obstore's errors for a missing blob or bucket."""
STORE_ERRORS = (OSError, BaseError)
NO_BUCKET = "NoSuchBucket"
"""S3's code for a missing bucket. The response to HEAD has no code."""


@contextmanager
def store_errors(key: str | None = None) -> Iterator[None]:
    """Translate errors of the store: ``OutOfSpace`` for a full disk, ``NotFound`` if the blob ``key`` is missing,
    ``StoreUnavailable`` for all others. Without ``key``, the bucket is missing."""
    try:
        yield
    except STORE_ERRORS as error:
        if isinstance(error, OSError) and error.errno in {ENOSPC, EDQUOT}:
            raise out_of_space() from error
        if key is not None and isinstance(error, ABSENT) and NO_BUCKET not in str(error):
            raise NotFound("blob-missing", f"The blob {key} is missing.") from None
        raise StoreUnavailable(
            "blob-store",
            "The file store is unavailable. Please try again later.",
            reason=describe_error(error),
        ) from error


def describe_error(error: Exception) -> str:
    """Return an error of the store in one line, without obstore's debug output."""
    text = str(error).partition("\n\nDebug source")[0]
    return f"{type(error).__name__}: {' '.join(text.split())}"


def out_of_space() -> OutOfSpace:
    return OutOfSpace("disk-full", "The service's disk for uploads is full. Please try again later.")


MAX_RETRIES = 7
"""obstore repeats requests for some seconds after S3's "slow down" and lost connections. Then the caller gets an
error."""


def parse_folder(url: str) -> Path | None:
    """Return the folder of the blob store at ``url``; None for an S3 store."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def object_store_at(url: str, secret_key: str | None, **options: Any) -> ObjectStore:
    """Open the store at ``url``; create a missing folder. ``secret_key``: for S3; None for the environment's."""
    folder = parse_folder(url)
    if folder is not None:
        return LocalStore(folder, mkdir=True)
    if secret_key and urlsplit(url).scheme == "s3":
        options["secret_access_key"] = secret_key
    return from_url(url, retry_config={"max_retries": MAX_RETRIES}, **options)


SIGNED_HEADERS = "content-length;host"
SCOPE_PARTS = 4
"""The parts of the scope after the key's name: date, region, service and the last word."""


def with_signed_length(url: str, length: int, secret_key: str) -> str:
    """Return the presigned ``url`` for PUT with a signature (AWS Signature Version 4) for exactly ``length`` bytes."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, strict_parsing=True)) | {"X-Amz-SignedHeaders": SIGNED_HEADERS}
    del query["X-Amz-Signature"]
    fields = "&".join(f"{quote(name, safe='~')}={quote(value, safe='~')}" for name, value in sorted(query.items()))
    headers = f"content-length:{length}\nhost:{parts.netloc}\n"
    request = "\n".join(("PUT", parts.path, fields, headers, SIGNED_HEADERS, "UNSIGNED-PAYLOAD"))
    scope = query["X-Amz-Credential"].split("/")[-SCOPE_PARTS:]
    digest = hashlib.sha256(request.encode()).hexdigest()
    text = "\n".join(("AWS4-HMAC-SHA256", query["X-Amz-Date"], "/".join(scope), digest))
    signature = reduce(_hmac, (*scope, text), f"AWS4{secret_key}".encode()).hex()
    return urlunsplit(parts._replace(query=f"{fields}&X-Amz-Signature={signature}"))


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
