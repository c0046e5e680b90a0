"""Weak ETags and If-None-Match; pictures, which are drawn only for a browser that does not have them yet."""

import hashlib
from collections.abc import Callable

from fastapi import Request, Response

from api.http.security_headers import IMMUTABLE_IMAGE_HEADERS
from scorer.product_version import product_version

PRODUCT = product_version()


def etag_of(*parts: object) -> str:
    """A weak ETag of everything an answer depends on, the product's own version included."""
    return f'W/"{hashlib.sha256(repr((PRODUCT, *parts)).encode()).hexdigest()[:24]}"'


def is_known(request: Request, etag: str) -> bool:
    """Whether the client has this version already (If-None-Match, weak comparison)."""
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    return "*" in known or etag.removeprefix("W/") in known


def picture_response(request: Request, etag: str, draw: Callable[[], bytes]) -> Response:
    """The PNG that ``draw`` returns, which is not called if the browser has that of this ETag already."""
    headers = IMMUTABLE_IMAGE_HEADERS | {"ETag": etag}
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    return Response(draw(), media_type="image/png", headers=headers)
