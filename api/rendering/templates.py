"""Renders pages with Jinja, sets their security and cache headers, and serves static files."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FunctionLoader, StrictUndefined
from sqlalchemy.orm import Session

from api.http.dependencies import Viewer
from api.http.etags import compute_etag, is_known
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
"""Only the browser may store a page, and it must revalidate the page each time."""
NO_OUTCOME = {"error": None, "faults": (), "place": None, "done": None}
"""The outcome of a form before it is submitted: no error, no details, no place, no confirmation."""


def _digest(*contents: bytes) -> str:
    return hashlib.sha256(b"\0".join(contents)).hexdigest()[:12]


BUILD_DIGEST = _digest(*(path.read_bytes() for path in sorted(API.rglob("*.*")) if path.suffix != ".pyc"))
"""Changes with the web edge's code, templates and styles."""


def static_url(name: str) -> str:
    """The address of a static file. It contains a hash of the content, which lets browsers cache the file forever."""
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
    environment.filters.update(
        markdown=markdown.render_html, summary=markdown.summarise_text, rest=markdown.render_rest
    )
    return environment


_ENVIRONMENT = _environment()


def render(template: str, **values: Any) -> str:
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
    """A rendered page with its headers.

    ``viewer_unknown``: the viewer may be signed in, but the request did not check. ``show_account_nav``: the page links
    to the viewer's account, or to the sign-in form, which then leads to ``onward``.
    """
    nav = {"viewer_unknown": viewer_unknown, "show_account_nav": show_account_nav, "onward": onward}
    body = render(template, viewer=viewer, **NO_OUTCOME | values | nav)
    return HTMLResponse(body, status, headers={**PAGE_HEADERS, **NO_CACHE_HEADERS, **(headers or {})})


def cached_page(body: bytes, etag: str) -> HTMLResponse:
    return HTMLResponse(body, headers={**PAGE_HEADERS, **NO_CACHE_HEADERS, "ETag": etag})


def page_from_cache(
    session: Session, cache: ResponseCache, etag: str, *, viewer: Viewer | None, make: Callable[[], bytes]
) -> HTMLResponse:
    """A page with its ETag. Visitors get the cached body; for a signed-in viewer, ``make`` renders it each time."""
    return cached_page(make() if viewer else cache.answer(session, etag, make), etag)


def see_other(address: str) -> RedirectResponse:
    """303 to one of our pages after a form: the reader can reload it without submitting the form again."""
    return RedirectResponse(address, 303, headers={**PAGE_HEADERS, "Cache-Control": "no-store"})


def not_modified(etag: str) -> Response:
    return Response(status_code=304, headers={**PAGE_HEADERS, **NO_CACHE_HEADERS, "ETag": etag})


router = Router(include_in_schema=False)


@router.api_route("/static/{name}", methods=["GET", "HEAD"])
def static_file(name: str, request: Request) -> Response:
    """A stylesheet, script or image from the ``static`` folder; no other file is served."""
    if name not in STATIC_FILES:
        raise HTTPException(404, "There is no file with this name.")
    etag = compute_etag(STATIC_FILES[name])
    current = request.query_params.get("v") == _digest(STATIC_FILES[name])
    cache_control = "public, max-age=31536000, immutable" if current else "no-cache"
    headers = {**PAGE_HEADERS, "Cache-Control": cache_control, "ETag": etag}
    if is_known(request, etag):
        return Response(status_code=304, headers=headers)
    return Response(STATIC_FILES[name], media_type=MEDIA_TYPES[Path(name).suffix], headers=headers)


def wants_page(request: Request) -> bool:
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")
