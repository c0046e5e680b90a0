"""Webhooks: notices posted to an address of one's own, signed.

A request is a JSON object with `id`, `kind`, `subject`, `body`, `link` and `created_at`. Its header
`Kennel-Signature: t=TIME,v1=HEX` holds the HMAC-SHA256 of `TIME.BODY` with the webhook's secret. Answer with 2xx
within five seconds; anything else is tried again, later and later, for a day. A notice that has arrived is not sent
again; where that is in doubt it is, with the same `id` (also in the header `Kennel-Delivery`), so ignore one that you
know.
"""

from typing import Annotated

from fastapi import APIRouter, Path, Response

from api.actions.sign_in import new_secret
from api.http.dependencies import AppSettings, CurrentUser, DbSession, Now, SignedIn
from api.schemas.notifications import DeliveryView, NewWebhook, NewWebhookView, WebhookView
from scorer.competitions import competition_state
from scorer.db.tables import Webhook
from scorer.notifications import webhooks

router = APIRouter(prefix="/webhooks", tags=["notices"])
RowId = Annotated[int, Path(ge=1, le=2**62)]


@router.get("")
def index(session: DbSession, account: CurrentUser) -> list[WebhookView]:
    """One's webhooks and those of one's teams."""
    return [_view(each) for each in webhooks.list_webhooks(session, account)]


@router.post("", status_code=201, description=(__doc__ or "").partition("\n\n")[2])
def create(
    body: NewWebhook, response: Response, session: DbSession, caller: SignedIn, settings: AppSettings, now: Now
) -> NewWebhookView:
    """Register a webhook. Needs a session: a token that leaks must not make one."""
    secret, account = new_secret(), caller.account
    state = competition_state.visible_state(session, body.competition, account, now) if body.competition else None
    team = webhooks.team_in(session, account, state.competition) if state else None
    local = settings.webhooks_local
    webhook = webhooks.register(session, account, body.url, secret=secret, team=team, local=local, now=now)
    response.headers["Cache-Control"] = "no-store"
    return NewWebhookView(**_view(webhook).model_dump(), secret=secret)


@router.delete("/{webhook_id}", status_code=204)
def end(webhook_id: RowId, session: DbSession, caller: SignedIn, now: Now) -> Response:
    """Remove a webhook; what is still on its way is dropped."""
    webhooks.end(session, caller.account, webhook_id, now=now)
    return Response(status_code=204)


@router.get("/{webhook_id}/deliveries")
def deliveries(webhook_id: RowId, session: DbSession, account: CurrentUser) -> list[DeliveryView]:
    """What a webhook was sent lately, newest first, and what became of it."""
    found = webhooks.deliveries(session, account, webhook_id)
    return [DeliveryView.model_validate(each, from_attributes=True) for each in found]


@router.post("/{webhook_id}/ping", status_code=202)
def ping(webhook_id: RowId, session: DbSession, caller: SignedIn, now: Now) -> DeliveryView:
    """Send a webhook something to try it with."""
    delivery = webhooks.ping(session, caller.account, webhook_id, now=now)
    return DeliveryView.model_validate(delivery, from_attributes=True)


def _view(webhook: Webhook) -> WebhookView:
    team = webhook.team.name if webhook.team else None
    return WebhookView(id=webhook.id, url=webhook.url, team=team, created_at=webhook.created_at)
