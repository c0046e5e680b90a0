"""Receipts: the scores of an entry, signed, and the public keys to check the signature by."""

from api.http.dependencies import AppSettings, CurrentCaller, CurrentUser, DbSession, Now
from api.http.routing import ApiRouter, Router
from api.submissions.receipts.views import KeySetView, PublicKeyView, ReceiptView, SignedReceiptView
from scorer.submissions import receipts

router = ApiRouter(tags=["results"])
well_known = Router(tags=["results"])


@router.get("/submissions/{submission_id}/receipt")
def show(
    submission_id: str, session: DbSession, account: CurrentUser, settings: AppSettings, now: Now
) -> SignedReceiptView:
    """A receipt of the entry's scores that can be shown to anybody: what was measured with what, and the rank at this
    moment, signed. Private scores are in it once they are published. For its team and organizers."""
    contents = receipts.receipt_of(session, submission_id, account, issuer=settings.public_url, now=now)
    view = ReceiptView.model_validate(contents)
    return SignedReceiptView(
        receipt=view, jws=receipts.sign(session, view.model_dump_json(by_alias=True).encode(), now=now)
    )


@well_known.get("/.well-known/kennel-keys.json")
def keys(session: DbSession, caller: CurrentCaller) -> KeySetView:
    """The public keys to check receipts by, as a JWK set. Keys that no longer sign stay in it."""
    return KeySetView(keys=[PublicKeyView.model_validate(key) for key in receipts.public_keys(session)])
