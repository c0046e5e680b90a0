"""Weak ETags, and If-None-Match."""

import hashlib

from fastapi import Request

from scorer.product_version import product_version

PRODUCT = product_version()


def etag_of(*parts: object) -> str:
    """A weak ETag of everything an answer depends on, the product's own version included."""
    return f'W/"{hashlib.sha256(repr((PRODUCT, *parts)).encode()).hexdigest()[:24]}"'


def is_known(request: Request, etag: str) -> bool:
    """Whether the client has this version already (If-None-Match, weak comparison)."""
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    return "*" in known or etag.removeprefix("W/") in known
