"""Schemas of receipts and of the keys that they are signed with."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scorer.lifecycle import Phase, TrackKind


class ReceiptScoreView(BaseModel):
    """An entry's score on a track, and what it was measured with."""

    model_config = ConfigDict(from_attributes=True)

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


class ReceiptView(BaseModel):
    """The scores of an entry as of ``issued_at``. Private ones are in it once they are published."""

    model_config = ConfigDict(from_attributes=True)

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
