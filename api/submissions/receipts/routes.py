"""Receipts: the scores of an entry, signed, and the public keys to check the signature by."""

from typing import Literal

from pydantic import BaseModel, Field, TypeAdapter

from api.http.dependencies import ActingReader, AppSettings, CurrentViewer, DbSession
from api.http.routing import ApiRouter, Router
from scorer.submissions import receipts
from scorer.submissions.receipts import Receipt


class SignedReceiptView(BaseModel):
    """A receipt to read, and the same receipt signed."""

    receipt: Receipt
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
    receipt = receipts.receipt_of(acting, submission_id, issuer=settings.public_url)
    jws = receipts.sign(acting.session, TypeAdapter(Receipt).dump_json(receipt), now=acting.now)
    return SignedReceiptView(receipt=receipt, jws=jws)


@well_known.get("/.well-known/kennel-keys.json")
def keys(session: DbSession, viewer: CurrentViewer) -> KeySetView:
    """The public keys to check receipts by, as a JWK set. Keys that no longer sign stay in it."""
    return KeySetView(keys=[PublicKeyView.model_validate(key) for key in receipts.public_keys(session)])
