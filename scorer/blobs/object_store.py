"""The object store: opened at an address, its errors in the words of :mod:`scorer.errors`, and presigned addresses for
a body of one length. Those that obstore makes take a body of any length, so anybody who has one could fill the store.
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
"""What obstore raises for a blob or a bucket that does not exist."""
STORE_ERRORS = (OSError, BaseError)
NO_BUCKET = "NoSuchBucket"
"""S3's code for a request to a bucket that does not exist; the answer to HEAD has no code."""


@contextmanager
def store_errors(key: str | None = None) -> Iterator[None]:
    """Around what the store does: ``OutOfSpace`` where the disk is full, ``NotFound`` if the blob ``key`` that is read
    does not exist, ``StoreUnavailable`` for every other error. Without ``key``, what does not exist is the bucket."""
    try:
        yield
    except STORE_ERRORS as error:
        if isinstance(error, OSError) and error.errno in {ENOSPC, EDQUOT}:
            raise out_of_space() from error
        if key is not None and isinstance(error, ABSENT) and NO_BUCKET not in str(error):
            raise NotFound("blob-missing", f"The blob {key} is missing.") from None
        raise StoreUnavailable(
            "blob-store",
            "The store of files cannot be used at the moment. Please try again later.",
            reason=reason_of(error),
        ) from error


def reason_of(error: Exception) -> str:
    """An error of the store in one line, without obstore's description of its own source."""
    text = str(error).partition("\n\nDebug source")[0]
    return f"{type(error).__name__}: {' '.join(text.split())}"


def out_of_space() -> OutOfSpace:
    """The error of a full disk."""
    return OutOfSpace("disk-full", "The disk for uploads is full, which is not your fault. Please try again later.")


MAX_RETRIES = 7
"""S3's "slow down" and lost connections pass unnoticed for some seconds; after that the caller tries again later."""


def folder_of(url: str) -> Path | None:
    """The folder of the blob store at ``url``; None if that is no folder of this machine."""
    parts = urlsplit(url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def object_store_at(url: str, secret_key: str | None, **options: Any) -> ObjectStore:
    """The store at ``url``; a missing folder is created. ``secret_key`` is that of S3, None for the environment's."""
    folder = folder_of(url)
    if folder is not None:
        return LocalStore(folder, mkdir=True)
    if secret_key and urlsplit(url).scheme == "s3":
        options["secret_access_key"] = secret_key
    return from_url(url, retry_config={"max_retries": MAX_RETRIES}, **options)


SIGNED_HEADERS = "content-length;host"
SCOPE_PARTS = 4
"""Date, region, service and the word that ends it, behind the name of the key."""


def with_signed_length(url: str, length: int, secret_key: str) -> str:
    """The presigned ``url`` for PUT, signed anew (AWS Signature Version 4) so that it takes a body of ``length`` bytes
    and no other."""
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
