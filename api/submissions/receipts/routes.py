"""Receipts: the scores of an entry, signed, and the public keys to check the signature by."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from api.http.dependencies import ActingReader, AppSettings, CurrentCaller, DbSession
from api.http.routing import ApiRouter, Router
from api.http.views import RecordView
from scorer.lifecycle import Phase, TrackKind
from scorer.submissions import receipts


class ReceiptScoreView(RecordView):
    """An entry's score on a track, and what it was measured with."""

    track: TrackKind
    mifid: float | None = Field(description="The score, lower is better; null for a copy, which has none.")
    fid: float
    memorization_distance: float
    tau: float | None
    penalised: bool | None
    copy_: bool = Field(alias="copy", description="Whether it is a copy of training images.")
    disqualified: bool
    rank: int | None = Field(description="The team's rank when the receipt was issued, if this is its best entry.")
    extractor: str = Field(examples=["inception_v3@1"])
    weights_sha256: str | None = Field(description="Of the extractor's weights.")
    reference: str | None = Field(description="SHA-256 of what the track's reference statistics were computed from.")
    scorer_version: str
    versions: dict[str, str] = Field(description="Of the libraries that measured.", examples=[{"pillow": "13.0.0"}])
    measured_at: datetime


class ReceiptView(RecordView):
    """The scores of an entry as of ``issued_at``. Private ones are in it once they are published."""

    issuer: str = Field(description="The address of the service that has signed it.")
    issued_at: datetime
    competition: str
    title: str
    phase: Phase
    submission: str
    team: str
    zip_sha256: str | None = Field(description="Null for an imported entry, which has no zip.")
    accepted_at: datetime
    late: bool
    scores: list[ReceiptScoreView]


class SignedReceiptView(BaseModel):
    """A receipt to read, and the same receipt signed."""

    receipt: ReceiptView
    jws: str = Field(description="The receipt as the payload of a JWS in compact form (RFC 7515), signed with Ed25519.")


class PublicKeyView(BaseModel):
    """The public half of a key (RFC 7517, RFC 8037)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    alg: Literal["Ed25519"]
    use: Literal["sig"]
    kid: str = Field(description="Its thumbprint (RFC 7638), which a JWS names.")
    x: str


class KeySetView(BaseModel):
    """The public halves of all keys that this service has ever signed with, the present one first."""

    keys: list[PublicKeyView]


router = ApiRouter(tags=["results"])
well_known = Router(tags=["results"])


@router.get("/submissions/{submission_id}/receipt")
def show(submission_id: str, acting: ActingReader, settings: AppSettings) -> SignedReceiptView:
    """A receipt of the entry's scores that can be shown to anybody: what was measured with what, and the rank at this
    moment, signed. Private scores are in it once they are published. For its team and organizers."""
    contents = receipts.receipt_of(acting, submission_id, issuer=settings.public_url)
    view = ReceiptView.model_validate(contents)
    return SignedReceiptView(
        receipt=view, jws=receipts.sign(acting.session, view.model_dump_json(by_alias=True).encode(), now=acting.now)
    )


@well_known.get("/.well-known/kennel-keys.json")
def keys(session: DbSession, caller: CurrentCaller) -> KeySetView:
    """The public keys to check receipts by, as a JWK set. Keys that no longer sign stay in it."""
    return KeySetView(keys=[PublicKeyView.model_validate(key) for key in receipts.public_keys(session)])
