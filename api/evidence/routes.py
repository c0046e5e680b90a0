"""Evidence of copying: the findings for a submission on a track, and PNGs of the matching images."""

from typing import Annotated

from fastapi import Path, Request, Response

from api.evidence.views import EvidenceView, evidence_view
from api.http.dependencies import CurrentUser, DbSession, Visitor, ZipImages
from api.http.etags import compute_etag, picture_response
from api.http.routing import ApiRouter
from api.openapi.files import PICTURE
from scorer.accounts.roles import is_organizer
from scorer.errors import NotFound
from scorer.evidence import visibility
from scorer.evidence.examples import example_sheet
from scorer.lifecycle import TrackKind

router = ApiRouter(prefix="/submissions/{submission_id}/evidence/{kind}", tags=["evidence"])
Group = Annotated[
    str,
    Path(
        pattern=r"^(near-copies|thumbnail-copies|hash-copies|relative-copies|partly-copied|repeats|identical"
        r"|mirrored-twins|cell-\d{1,4})$"
    ),
]


@router.get("")
def show(submission_id: str, kind: TrackKind, session: DbSession, account: Visitor) -> EvidenceView:
    """Get the findings of all tests on a submission and track, or the progress of the tests. For reviewers and
    organizers, and for the submission's team once a board is published. Everybody can see the findings, without
    images, once the final board is published."""
    submission = visibility.require_visible(session, submission_id, account)
    return evidence_view(session, submission, kind, account=account)


@router.get("/{group}", response_class=Response, responses=PICTURE)
def sheet(
    submission_id: str,
    kind: TrackKind,
    group: Group,
    request: Request,
    session: DbSession,
    images: ZipImages,
    account: CurrentUser,
) -> Response:
    """Get the images of a group of `matches` or of a cell in one PNG: the submission's images in the upper row, each
    above its match (mirrored if the mirror image matches). For reviewers and organizers, and for the submission's team
    once a board is published."""
    submission = visibility.require_visible(session, submission_id, account)
    visible = visibility.visible_evidence(session, submission, kind, account=account)
    evidence, pairs = visible.evidence, visible.groups.get(group)
    if evidence is None or pairs is None:
        raise NotFound("no-pictures", f"This entry has no images for {group!r}.")
    etag = compute_etag(evidence.id, group, is_organizer(account, submission.competition_id))

    def draw() -> bytes:
        return example_sheet(session, images, submission, evidence=evidence, group=pairs)

    return picture_response(request, etag, draw)
