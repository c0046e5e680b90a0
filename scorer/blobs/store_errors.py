"""Errors of the blob store in the words of :mod:`scorer.errors`."""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, ENOSPC

from obstore.exceptions import BaseError, NotFoundError

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
