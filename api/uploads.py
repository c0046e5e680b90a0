"""Receiving zips: what the headers say, and nothing left behind when they are refused."""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request

from scorer.blobs import Blobs, Received
from scorer.errors import Invalid

FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


def declared_bytes(request: Request) -> int | None:
    """What Content-Length promises, if it does; ``Invalid`` for a form: the body must be the zip itself."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() in FORMS:
        raise Invalid(
            "not-a-form",
            "Send the zip itself as the body, not a form: curl -X POST -T entry.zip URL",
        )
    declared = request.headers.get("content-length", "")
    return int(declared) if declared.isdecimal() else None


@contextmanager
def discarded_on_error(store: Blobs, received: Received) -> Iterator[None]:
    """Delete the received blob if it is refused after all."""
    try:
        yield
    except BaseException:
        store.delete(received.key)
        raise
