"""Pages of your notices and their channels: the site, mail and webhooks."""

import secrets
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import Response

from api.http.dependencies import ActingSignedIn, AppRateLimiter, AppSettings, RowId, SignedIn, Viewer
from api.http.forms import FormFields, refusal_on, text
from api.http.routing import Router
from api.rendering.templates import render_page, see_other
from scorer.accounts import sessions
from scorer.acting import Acting
from scorer.db import notifications
from scorer.errors import Invalid
from scorer.notifications import notices, webhooks
from scorer.notifications.notices import Kind
from scorer.notifications.webhooks import KEY_BYTES, encode_secret

router = Router(include_in_schema=False)
PAGE_SIZE = 50
CHANNELS_PATH = "/account/notices"
DONE_MESSAGES = {
    "mails": "Email settings saved.",
    "removed": "Webhook removed.",
    "ping": "Test notice sent. Reload this page in 30 s to see the result.",
}


@router.api_route("/notices", methods=["GET", "HEAD"])
def list_notices(
    acting: ActingSignedIn, viewer: SignedIn, before: Annotated[int | None, Query(ge=1, le=2**62)] = None
) -> Response:
    newest = notifications.notices_page(acting.session, acting.actor.id, before=before, limit=PAGE_SIZE + 1)
    page = newest[:PAGE_SIZE]
    older = page[-1].id if len(newest) > PAGE_SIZE else None
    return render_page(
        "notifications/list.html", viewer=viewer, notices=page, first=before is None, older=older, now=acting.now
    )


@router.post("/notices/read")
def mark_read(fields: FormFields, acting: ActingSignedIn) -> Response:
    """Mark the notices on the page and all older ones as read."""
    up_to = text(fields, "up_to", max_length=18)
    if not (up_to.isascii() and up_to.isdecimal()):
        raise Invalid("bad-request", "The form has no notice number. Reload the page and submit it again.")
    notices.mark_all_read(acting, up_to=int(up_to))
    return see_other("/notices")


@router.api_route(CHANNELS_PATH, methods=["GET", "HEAD"])
def show_channels(acting: ActingSignedIn, viewer: SignedIn, done: str = "") -> Response:
    return _channels_page(acting, viewer, done=DONE_MESSAGES.get(done))


def _channels_page(
    acting: Acting, viewer: Viewer, *, secret: str | None = None, url: str = "", **outcome: Any
) -> Response:
    session, account = acting.session, acting.actor
    hooks = notifications.active_webhooks(session, account.id)
    return render_page(
        "notifications/channels.html",
        headers={"Cache-Control": "no-store"},
        viewer=viewer,
        mailed=notices.mail_choices(session, account),
        webhooks=[(hook, next(iter(webhooks.deliveries(session, account, hook.id, limit=1)), None)) for hook in hooks],
        now=acting.now,
        secret=secret,
        url=url,
        **outcome,
    )


@router.post(f"{CHANNELS_PATH}/mails")
def choose_mails(fields: FormFields, acting: ActingSignedIn) -> Response:
    ticked = set(fields.getlist("mailed"))
    notices.choose_mails(acting.session, acting.actor, {kind: kind.value in ticked for kind in Kind})
    return see_other(f"{CHANNELS_PATH}?done=mails#mails")


@router.post(f"{CHANNELS_PATH}/webhooks")
def add_webhook(fields: FormFields, acting: ActingSignedIn, viewer: SignedIn, settings: AppSettings) -> Response:
    sessions.hold(acting.session, viewer.session_id, acting.now)
    secret = encode_secret(secrets.token_bytes(KEY_BYTES))
    url = text(fields, "url", max_length=webhooks.MAX_URL_LENGTH).strip()
    with refusal_on(_channels_page, acting, viewer, url=url):
        webhooks.register(acting, url, secret=secret, local=settings.webhooks_local)
    return _channels_page(acting, viewer, status=201, secret=secret)


@router.post(f"{CHANNELS_PATH}/webhooks/{{webhook_id}}/remove")
def remove_webhook(webhook_id: RowId, acting: ActingSignedIn) -> Response:
    webhooks.end(acting, webhook_id)
    return see_other(f"{CHANNELS_PATH}?done=removed#webhooks")


@router.post(f"{CHANNELS_PATH}/webhooks/{{webhook_id}}/ping")
def ping_webhook(webhook_id: RowId, acting: ActingSignedIn, viewer: SignedIn, rates: AppRateLimiter) -> Response:
    with refusal_on(_channels_page, acting, viewer):
        rates.hit("webhook-ping", viewer.account.id)
    webhooks.ping(acting, webhook_id)
    return see_other(f"{CHANNELS_PATH}?done=ping#webhooks")
