"""Addresses of links that the former version gave out, with the secret in their path.

Each leads to the page whose form takes the secret, which is in the fragment there. The next version has none of these.
"""

from urllib.parse import quote

from fastapi.responses import Response

from api.rendering.templates import see_other
from api.routing import Router

router = Router(include_in_schema=False)


@router.api_route("/reset/{link}", methods=["GET", "HEAD"])
def reset(link: str) -> Response:
    """To the form for a new password."""
    return _page_with_fragment("/new-password", link)


@router.api_route("/confirm/{link}", methods=["GET", "HEAD"])
def confirm(link: str) -> Response:
    """To the form that confirms an address."""
    return _page_with_fragment("/confirm", link)


@router.api_route("/rate/{link}", methods=["GET", "HEAD"])
def rate(link: str) -> Response:
    """To the page on which people rate."""
    return _page_with_fragment("/rate", link)


def _page_with_fragment(page: str, secret: str) -> Response:
    return see_other(f"{page}#{quote(secret, safe='')}")
