"""Receipts with the signed scores of a submission, and the public keys to verify them."""

from typing import Literal

from pydantic import BaseModel, Field, TypeAdapter

from api.http.dependencies import ActingReader, AppSettings, CurrentViewer, DbSession
from api.http.routing import ApiRouter, Router
from scorer.submissions import receipts
from scorer.submissions.receipts import Receipt


class SignedReceiptView(BaseModel):
    """A readable receipt, and the same receipt signed."""

    receipt: Receipt
    jws: str = Field(description="A JWS in compact form (RFC 7515) with the receipt as payload, signed with Ed25519.")


class PublicKeyView(BaseModel):
    """The public half of a key (RFC 7517, RFC 8037)."""

    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    alg: Literal["Ed25519"]
    use: Literal["sig"]
    kid: str = Field(description="The key's thumbprint (RFC 7638). A JWS names it.")
    x: str


class KeySetView(BaseModel):
    """The public halves of all signing keys of this service, the current key first."""

    keys: list[PublicKeyView]


router = ApiRouter(tags=["results"])
well_known = Router(tags=["results"])


@router.get("/submissions/{submission_id}/receipt")
def show(submission_id: str, acting: ActingReader, settings: AppSettings) -> SignedReceiptView:
    """Get a signed receipt of a submission's scores, which you can show to anybody. It has the measurements, their
    provenance and the current rank. It includes private scores after they are published. Of a generator, it has the
    hash of each draw and the commitments of the secrets, and with the final board the secrets. For the submission's
    team and organizers."""
    receipt = receipts.build_receipt(acting, submission_id, issuer=settings.public_url, draw_key=settings.draw_key)
    jws = receipts.sign(acting.session, TypeAdapter(Receipt).dump_json(receipt), now=acting.now)
    return SignedReceiptView(receipt=receipt, jws=jws)


@well_known.get("/.well-known/kennel-keys.json")
def keys(session: DbSession, viewer: CurrentViewer) -> KeySetView:
    """Get the public keys that verify receipts, as a JWK set. It includes keys that are no longer used for signing."""
    return KeySetView(keys=[PublicKeyView.model_validate(key) for key in receipts.public_keys(session)])
