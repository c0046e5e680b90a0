"""Webhooks: signed POSTs of notices to a registered address.

Kennel sends each notice as a JSON object with `id`, `kind`, `subject`, `body`, `link` and `created_at`. The
request is signed as in [Standard Webhooks](https://www.standardwebhooks.com), whose libraries verify the headers
`webhook-id`, `webhook-timestamp` and `webhook-signature` with the webhook's secret.

Respond with 2xx within 5 seconds. After any other response, Kennel tries again for one day, at increasing
intervals. A 410 response removes the webhook. A delivered notice is not sent again. If delivery is uncertain, Kennel
sends the notice again with the same `webhook-id`. Ignore an ID that you have already received.
"""

import secrets

from fastapi import Response

from api.http.dependencies import ActingReader, ActingSignedIn, AppRateLimiter, AppSettings, RowId, SignedIn
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.notifications.views import DeliveryPage, DeliveryView, NewWebhook, NewWebhookView, WebhookPage, WebhookView
from scorer.accounts import sessions
from scorer.db import notifications
from scorer.notifications import webhooks
from scorer.notifications.webhooks import KEY_BYTES, encode_secret

router = ApiRouter(prefix="/webhooks", tags=["notices"])
REGISTERING = "Register a webhook. " + (__doc__ or "").partition("\n\n")[2]


@router.get("")
def index(acting: ActingReader, wanted: Paging) -> WebhookPage:
    """List your webhooks."""
    page = wanted.slice_all(notifications.active_webhooks(acting.session, acting.actor.id))
    views = [WebhookView.model_validate(webhook) for webhook in page.rows]
    return WebhookPage(webhooks=views, next_after=page.next_after)


@router.post("", status_code=201, description=REGISTERING)
def create(
    body: NewWebhook, response: Response, acting: ActingSignedIn, viewer: SignedIn, settings: AppSettings
) -> NewWebhookView:
    """Requires a session, because a leaked API token must not be able to create a webhook."""
    sessions.hold(acting.session, viewer.session_id, acting.now)
    secret = encode_secret(secrets.token_bytes(KEY_BYTES))
    webhook = webhooks.register(acting, body.url, secret=secret, local=settings.webhooks_local)
    response.headers["Cache-Control"] = "no-store"
    return NewWebhookView.of(webhook, secret=secret)


@router.delete("/{webhook_id}", status_code=204)
def end(webhook_id: RowId, acting: ActingSignedIn) -> None:
    """Remove a webhook and cancel its pending deliveries."""
    webhooks.end(acting, webhook_id)


@router.get("/{webhook_id}/deliveries")
def deliveries(webhook_id: RowId, acting: ActingReader, wanted: Paging) -> DeliveryPage:
    """List the deliveries to a webhook with their outcomes, newest first."""
    before, limit = wanted.after, wanted.one_more
    latest = webhooks.deliveries(acting.session, acting.actor, webhook_id, before=before, limit=limit)
    page = wanted.slice_following(latest, lambda delivery: delivery.id)
    views = [DeliveryView.model_validate(delivery) for delivery in page.rows]
    return DeliveryPage(deliveries=views, next_after=page.next_after)


@router.post("/{webhook_id}/ping", status_code=202)
def ping(webhook_id: RowId, acting: ActingSignedIn, rates: AppRateLimiter) -> DeliveryView:
    """Send a test notice to a webhook."""
    rates.hit("webhook-ping", acting.actor.id)
    delivery = webhooks.ping(acting, webhook_id)
    return DeliveryView.model_validate(delivery)
