"""The reference of the API as a page, made from the OpenAPI document; an introduction for language models."""

from functools import lru_cache

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, Response

from api.http.dependencies import AppSettings
from api.http.etags import etag_of, is_known
from api.http.routing import Router
from api.openapi import reference
from api.rendering.templates import cached_page, not_modified, render

router = Router(include_in_schema=False)


@router.api_route("/api-reference", methods=["GET", "HEAD"])
def show_api_reference(request: Request) -> Response:
    """Every operation and every schema, for everybody."""
    page, etag = _page_of(request.app)
    return not_modified(etag) if is_known(request, etag) else cached_page(page, etag)


@lru_cache(maxsize=1)
def _page_of(app: FastAPI) -> tuple[bytes, str]:
    """The page and its ETag; the same for everybody as long as the process lives."""
    document = app.openapi()
    page = render(
        "openapi/show.html",
        viewer=None,
        show_account_nav=False,
        operations=reference.operations_by_tag(document),
        schemas=reference.fields_by_schema(document),
        document=app.openapi_url,
    ).encode()
    return page, etag_of(page)


@router.api_route("/llms.txt", methods=["GET", "HEAD"])
def show_llms_txt(request: Request, settings: AppSettings) -> Response:
    """What this service is and how a program uses it, as language models read it (llmstxt.org)."""
    return PlainTextResponse(render("openapi/llms.txt", site=settings.public_url, document=request.app.openapi_url))
