"""Renders pages with Jinja, with their security and cache headers; serves static files and error pages."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FunctionLoader, StrictUndefined
from sqlalchemy.orm import Session

from api.http.dependencies import Viewer
from api.http.etags import etag_of, is_known
from api.http.response_cache import ResponseCache
from api.http.routing import Router
from api.http.security_headers import PAGE_HEADERS
from api.rendering import formatting, markdown
from scorer.accounts.roles import is_organizer, is_reviewer, may_open_competitions
from scorer.product_version import product_version

API = Path(__file__).parents[1]
MEDIA_TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
STATIC_FILES = {
    path.name: path.read_bytes()
    for path in sorted(Path(__file__).with_name("static").iterdir())
    if path.suffix in MEDIA_TYPES
}

NO_CACHE_HEADERS = {"Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
"""Only the browser may store a page, and it must revalidate it each time."""
NO_OUTCOME = {"error": None, "faults": (), "place": None, "done": None}
"""The outcome of a form as pages show it (an error with its particulars at a place, or a message) where there was
none."""


def _digest(*contents: bytes) -> str:
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:12]


BUILD_DIGEST = _digest(*(path.read_bytes() for path in sorted(API.rglob("*.*")) if path.suffix != ".pyc"))
"""Changes whenever the web edge's own code, templates or styles do."""


def static_url(name: str) -> str:
    """The address of a static file with a hash of its content, so that browsers may cache it for ever."""
    return f"/static/{name}?v={_digest(STATIC_FILES[name])}"


def _load(template: str) -> str:
    """The text of the template ``review/rulings/history.html``: ``api/review/rulings/templates/history.html``."""
    folder, _, file = template.rpartition("/")
    return (API / folder / "templates" / file).read_text("utf-8")


def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_load),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        static=static_url,
        product_version=product_version(),
        formatting=formatting,
        is_organizer=is_organizer,
        is_reviewer=is_reviewer,
        may_open_competitions=may_open_competitions,
    )
    environment.filters.update(markdown=markdown.html_of, summary=markdown.summary_of, rest=markdown.rest_of)
    return environment


_ENVIRONMENT = _environment()


def render(template: str, **values: Any) -> str:
    """A rendered template."""
    return _ENVIRONMENT.get_template(template).render(values)


def render_page(
    template: str,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    viewer: Viewer | None = None,
    viewer_unknown: bool = False,
    show_account_nav: bool = True,
    onward: str = "",
    **values: Any,
) -> HTMLResponse:
    """A rendered page with its headers. ``viewer_unknown``: the viewer may be signed in, but nobody has looked.
    ``show_account_nav``: with links to the viewer's account, or to signing in, which leads to ``onward``."""
    nav = {"viewer_unknown": viewer_unknown, "show_account_nav": show_account_nav, "onward": onward}
    shown = {"viewer": viewer, **nav}
    body = render(template, **NO_OUTCOME | values | shown)
    return HTMLResponse(body, status, headers={**PAGE_HEADERS, **NO_CACHE_HEADERS, **(headers or {})})


def cached_page(body: bytes, etag: str) -> HTMLResponse:
    """A page whose body was rendered before, with its ETag."""
    return HTMLResponse(body, headers={**PAGE_HEADERS, **NO_CACHE_HEADERS, "ETag": etag})


def page_from_cache(
    session: Session, cache: ResponseCache, etag: str, *, viewer: Viewer | None, make: Callable[[], bytes]
) -> HTMLResponse:
    """A page with its ETag: a visitor's body comes from the cache, that of who is signed in is made each time."""
    return cached_page(make() if viewer else cache.answer(session, etag, make), etag)


def see_other(address: str) -> RedirectResponse:
    """What a form answers once it is done: a page of ours that may be reloaded without sending the form again."""
    return RedirectResponse(address, 303, headers={**PAGE_HEADERS, "Cache-Control": "no-store"})


def not_modified(etag: str) -> Response:
    """304: the browser has this version already."""
    return Response(status_code=304, headers={**PAGE_HEADERS, **NO_CACHE_HEADERS, "ETag": etag})


router = Router(include_in_schema=False)


@router.api_route("/static/{name}", methods=["GET", "HEAD"])
def static_file(name: str, request: Request) -> Response:
    """A stylesheet, script or picture; only files of the ``static`` folder are served, whatever the name is."""
    if name not in STATIC_FILES:
        raise HTTPException(404, "There is no such file.")
    etag = etag_of(STATIC_FILES[name])
    current = request.query_params.get("v") == _digest(STATIC_FILES[name])
    cache_control = "public, max-age=31536000, immutable" if current else "no-cache"
    headers = {**PAGE_HEADERS, "Cache-Control": cache_control, "ETag": etag}
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    return Response(STATIC_FILES[name], media_type=MEDIA_TYPES[Path(name).suffix], headers=headers)


def wants_page(request: Request) -> bool:
    """Whether the response should be HTML: the address is outside the API, and ``Accept`` includes HTML."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")
