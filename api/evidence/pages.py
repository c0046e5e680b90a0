"""The generator upload form: on the entry's page for its team, on its review page for organizers."""

from typing import cast, get_args

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from api.evidence.generators.uploads import store_generator
from api.http.dependencies import AppSettings, BlobStore, Caller, Transaction, Transactions, Uploader, utc_now
from api.http.multipart import drain, open_page_form
from api.http.problem_details import status_of
from api.http.request_bodies import streamed_body
from api.http.routing import Router
from api.http.stored_images import ZipImages
from api.rendering.templates import see_other
from api.review.review_queue.pages import ReviewContext
from api.submissions.pages import page_with_error
from scorer.errors import Invalid, KennelError
from scorer.evidence.generator_uploads import DeclaredLatent
from scorer.evidence.images import StoredImages
from scorer.onnx_files import MAX_LATENT_DIMENSION, Distribution

router = Router(include_in_schema=False)


@router.post("/submissions/{submission_id}/generator")
async def upload_generator(
    submission_id: str,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    images: ZipImages,
    settings: AppSettings,
    viewer: Uploader,
) -> Response:
    """Store the uploaded file as the entry's generator."""
    body = streamed_body(request, viewer.account.id)
    review_path = ""
    try:
        form = await open_page_form(request, body)
        review_path = "/desk" if form.fields.get("at") == "desk" else ""
        declared = declaration_in(form.fields)
        await store_generator(submission_id, declared, form.chunks, begin, store, viewer.account, settings)
    except KennelError as error:
        await drain(body, settings.generator_max_bytes)
        page_with = _review_with_error if review_path else _submission_with_error
        return await run_in_threadpool(page_with, submission_id, begin, images, viewer, error)
    return see_other(f"/submissions/{submission_id}{review_path}#generator")


def declaration_in(fields: dict[str, str]) -> DeclaredLatent:
    """The latent vector that a form declares; ``Invalid`` if its fields are missing or out of range."""
    digits = fields.get("latent", "").strip()
    distribution = fields.get("distribution")
    dimension = int(digits) if digits.isdecimal() and len(digits) < 10 else 0
    if not 1 <= dimension <= MAX_LATENT_DIMENSION:
        raise Invalid("bad-latent", f"A latent vector has between 1 and {MAX_LATENT_DIMENSION:,} numbers.")
    if distribution not in get_args(Distribution):
        raise Invalid("bad-latent", "Please say how the numbers of a latent vector are distributed.")
    return DeclaredLatent(dimension, cast(Distribution, distribution))


def _submission_with_error(
    submission_id: str, begin: Transaction, images: StoredImages, viewer: Caller, error: KennelError
) -> Response:
    with begin() as session:
        return page_with_error(session, images, submission_id, viewer, error, place="generator", now=utc_now())


def _review_with_error(
    submission_id: str, begin: Transaction, images: StoredImages, viewer: Caller, error: KennelError
) -> Response:
    page = ReviewContext(submission_id, begin, images, viewer, utc_now())
    return page.show(status=status_of(error), error=error.message, place="generator")
