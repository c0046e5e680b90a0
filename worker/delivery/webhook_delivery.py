"""Webhook delivery: posts signed notices concurrently, each to an address that the SSRF guard has checked."""

import asyncio
import json
import logging
import time
from collections.abc import Sequence

import httpx

from scorer.db.tables import Delivery
from scorer.monitoring.instruments import WEBHOOK_DELIVERIES
from scorer.notifications import webhooks
from scorer.notifications.ssrf_guard import NotPublicAddress, resolve_public_address
from scorer.product_version import product_version
from worker.runtime.context import WorkerContext

log = logging.getLogger(__name__)

MAX_CONCURRENT_POSTS = 20
ATTEMPT_SECONDS = 5.0
"""The time from resolving the host's name to the head of the response; the body is not read."""
GONE = "The server responded with 410 (Gone), so the webhook was stopped."
ROUND_SECONDS = 5.0
"""No attempt is started after this time, so that other jobs get their turn."""


def post_due_deliveries(context: WorkerContext) -> int:
    """Post the due deliveries of one round; returns how many notices have arrived."""
    end = time.monotonic() + ROUND_SECONDS
    arrived = 0
    while time.monotonic() < end:
        with context.transaction() as session:
            claimed = webhooks.claim_deliveries(session, now=context.now(), limit=MAX_CONCURRENT_POSTS)
        if not claimed:
            break
        # Recorded one by one, so that a bug in Kennel affects one delivery and not the others.
        for delivery, error in asyncio.run(_post_all(context, claimed)):
            with context.transaction() as session:
                if error is None:
                    webhooks.mark_arrived(session, delivery, now=context.now())
                elif error == GONE:
                    webhooks.stop(session, delivery, error=error, now=context.now())
                else:
                    webhooks.record_failure(session, delivery, error=error, now=context.now())
            arrived += error is None
            WEBHOOK_DELIVERIES.labels("arrived" if error is None else "failed").inc()
    return arrived


async def _post_all(context: WorkerContext, deliveries: Sequence[Delivery]) -> list[tuple[Delivery, str | None]]:
    """Post deliveries concurrently; returns each with None if it has arrived, else with the error."""
    # A bare transport: it follows no redirects, keeps no cookies and uses no proxy.
    limits = httpx.Limits(max_connections=MAX_CONCURRENT_POSTS, max_keepalive_connections=0)
    async with httpx.AsyncHTTPTransport(limits=limits) as transport:
        errors = await asyncio.gather(*(_post(transport, context, delivery) for delivery in deliveries))
    return list(zip(deliveries, errors, strict=True))


async def _post(transport: httpx.AsyncHTTPTransport, context: WorkerContext, delivery: Delivery) -> str | None:
    try:
        async with asyncio.timeout(ATTEMPT_SECONDS):
            response = await transport.handle_async_request(await _request(context, delivery))
            await response.aclose()
    except TimeoutError:
        return f"The server did not respond within {ATTEMPT_SECONDS:g} s."
    except NotPublicAddress as error:
        return str(error)
    except (httpx.HTTPError, OSError) as error:
        return f"The server could not be reached: {error or type(error).__name__}."
    except Exception:
        log.exception("webhook %d: the attempt failed because of an error in Kennel", delivery.webhook_id)
        return "The attempt failed because of an error in Kennel."
    return _response_error(response)


def _response_error(response: httpx.Response) -> str | None:
    """The error in a response; None if the notice has arrived."""
    if response.has_redirect_location:
        return (
            f"The server responded with {response.status_code}. Kennel does not follow redirects: "
            "register the new address."
        )
    if response.status_code == httpx.codes.GONE:
        return GONE
    return None if response.is_success else f"The server responded with {response.status_code}."


async def _request(context: WorkerContext, delivery: Delivery) -> httpx.Request:
    """The request, to the exact address that the guard has checked. The certificate must still be for the host name."""
    url = httpx.URL(delivery.webhook.url)
    body = build_body(delivery, context.settings.public_url)
    timestamp = int(context.now().timestamp())
    address = await resolve_public_address(url.host, local=context.settings.webhooks_local)
    headers = {
        "Host": url.netloc.decode(),
        "Content-Type": "application/json",
        "User-Agent": f"Kennel/{product_version()}",
        **webhooks.signed_headers(delivery.webhook.secret, str(delivery.id), timestamp, body=body),
    }
    address_url = url.copy_with(host=address)
    name = {"sni_hostname": url.host}
    return httpx.Request("POST", address_url, content=body, headers=headers, extensions=name)


def build_body(delivery: Delivery, site: str) -> bytes:
    """The JSON body of a delivery, the same at every attempt."""
    notice = {
        "id": delivery.id,
        "kind": delivery.kind,
        "subject": delivery.subject,
        "body": delivery.body,
        "link": f"{site}{delivery.link}",
        "created_at": delivery.created_at.isoformat(),
    }
    return json.dumps(notice, ensure_ascii=False).encode()
