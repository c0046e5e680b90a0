"""The generator of a submission: uploading it, and the result of its audit."""

import secrets
from typing import Annotated

from fastapi import Query, Request, Response

from api.evidence.generators.uploads import store_generator
from api.evidence.generators.views import GeneratorView, generator_view
from api.http.dependencies import (
    ActingReviewer,
    AppSettings,
    BlobStore,
    CurrentUser,
    DbSession,
    Submitter,
    Transactions,
)
from api.http.etags import compute_etag, picture_response
from api.http.received_blobs import declared_bytes
from api.http.request_bodies import streamed_body
from api.http.routing import ApiRouter
from api.openapi.files import PICTURE, file_body
from scorer.blobs import require_bytes
from scorer.evidence import generator_audits, generator_uploads
from scorer.generators.latents import Latent
from scorer.generators.onnx_files import MAX_CLASSES, MAX_LATENT_DIMENSION, Distribution
from scorer.metrics.copying.latent_recovery import TargetKind

router = ApiRouter(tags=["generators"])
Dimension = Annotated[int, Query(ge=1, le=MAX_LATENT_DIMENSION, description="The latent dimension.")]


@router.put(
    "/submissions/{submission_id}/generator",
    status_code=202,
    openapi_extra=file_body("The ONNX file."),
)
async def hand_in(
    submission_id: str,
    request: Request,
    begin: Transactions,
    store: BlobStore,
    settings: AppSettings,
    account: Submitter,
    latent: Dimension,
    distribution: Annotated[
        Distribution,
        Query(
            description="The distribution of each coordinate: standard normal, uniform on [-1, 1], or standard normal"
            " truncated to [-2, 2]."
        ),
    ],
    classes: Annotated[
        int | None,
        Query(ge=2, le=MAX_CLASSES, description="The number of classes of a one-hot class after the latent."),
    ] = None,
) -> GeneratorView:
    """Upload the generator of a submission. The request body is the ONNX file itself. A worker then searches for
    latents that reproduce training and held-out images. A newer file replaces an older one. For the submission's team
    until the final board is published, and for organizers."""
    require_bytes(declared_bytes(request), settings.generator_max_bytes)
    space = Latent(latent, distribution, classes)
    body = streamed_body(request, account.id)
    return await store_generator(
        submission_id, space, body, begin=begin, store=store, account=account, settings=settings
    )


@router.post("/submissions/{submission_id}/generator", status_code=202)
def audit(submission_id: str, acting: ActingReviewer) -> GeneratorView:
    """Audit a submission that is a generator. A worker then searches for latents that reproduce training and held-out
    images. An earlier audit is returned instead, unless it has failed. For reviewers and organizers."""
    generator_uploads.audit_entry(acting, submission_id, seed=secrets.randbits(32))
    return generator_view(submission_id, generator_audits.find_generator(acting.session, submission_id, acting.actor))


@router.get("/submissions/{submission_id}/generator")
def show(submission_id: str, session: DbSession, account: CurrentUser) -> GeneratorView:
    """Get the newest generator of a submission, with the progress of its audit or the reason for its refusal. The
    result is for reviewers and organizers. The submission's team gets it once a board is published or the submission
    has a ruling."""
    return generator_view(submission_id, generator_audits.find_generator(session, submission_id, account))


@router.get("/submissions/{submission_id}/generator/pairs/{group}", response_class=Response, responses=PICTURE)
def pairs(
    submission_id: str, group: TargetKind, request: Request, session: DbSession, store: BlobStore, account: CurrentUser
) -> Response:
    """Get pairs of the generator audit in one PNG: target images, each above the generator's nearest image. The
    targets are training images, held-out images (organizers only), the generator's own or the submission's images."""
    key = generator_audits.pairs_key(session, submission_id, group, account=account)
    return picture_response(
        request, compute_etag(key, group), lambda: generator_audits.pairs_sheet(store.read(key), group)
    )
