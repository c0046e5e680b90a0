"""Weak ETags and If-None-Match, and responses with images."""

import hashlib
from collections.abc import Callable

from fastapi import Request, Response

from api.http.security_headers import IMMUTABLE_IMAGE_HEADERS
from scorer.product_version import product_version

PRODUCT = product_version()


def compute_etag(*parts: object) -> str:
    """A weak ETag of everything a response depends on, including the product version."""
    return f'W/"{hashlib.sha256(repr((PRODUCT, *parts)).encode()).hexdigest()[:24]}"'


def is_known(request: Request, etag: str) -> bool:
    """Whether the client already has this version (If-None-Match, weak comparison)."""
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    return "*" in known or etag.removeprefix("W/") in known


def picture_response(request: Request, etag: str, draw: Callable[[], bytes]) -> Response:
    """The PNG that ``draw`` returns. Skips ``draw`` if the browser already has the image with this ETag."""
    headers = IMMUTABLE_IMAGE_HEADERS | {"ETag": etag}
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    return Response(draw(), media_type="image/png", headers=headers)
