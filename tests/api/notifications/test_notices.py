"""Notices, webhooks and mails about notices, through the API."""

import re
from dataclasses import replace
from typing import Any

import pytest

from scorer.accounts import password_hashing
from scorer.db.tables import Account
from scorer.notifications import notices, webhooks
from scorer.notifications.notices import Kind, NoticeText
from tests.api.accounts.grace import browse, sign_in
from tests.api.conftest import API, Service, rated, refused
from tests.api.notifications.conftest import Server
from tests.factories import noise_images, with_a_wrong_image
from worker.delivery.mail import send_due_mails
from worker.runtime.context import WorkerContext

URL = "https://hooks.example.org/kennel"


def notify_person(service: Service, handle: str, *kinds: Kind) -> None:
    """Write notices for a person."""
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle=handle).one()
        for kind in kinds:
            notice = NoticeText(kind, f"About {kind}", "Body.", "/somewhere")
            notices.notify(session, notice, service.context.now(), accounts=[account.id])


def signed_in(service: Service, handle: str) -> str:
    """Sign a person in with a browser and return the CSRF token."""
    password = "quite long enough"
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle=handle).one().password_hash = password_hashing.hash_password(password)
    csrf: str = sign_in(service, handle, password).json()["csrf_token"]
    return csrf


def hook(service: Service, csrf: str, **body: Any) -> Any:
    return browse(service, "POST", "/webhooks", csrf, json={"url": URL, **body})


def test_notices_can_be_marked_read(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    service.submit("ada", slug, with_a_wrong_image(noise_images(11)))
    service.run_jobs()
    page = service.call("ada", "GET", "/notices").json()
    assert [notice["kind"] for notice in page["notices"]] == ["entry-rejected", "entry-scored"]
    assert page["unread"] == 2
    assert page["notices"][1]["link"] == f"/submissions/{entry['id']}"
    assert service.call("bob", "GET", "/notices").json() == {"notices": [], "unread": 0, "next_after": None}
    newest = page["notices"][0]["id"]
    assert service.call("ada", "PUT", f"/notices/{newest}/read").status_code == 204
    unread = service.call("ada", "GET", "/notices", params={"unread": True}).json()
    assert [notice["kind"] for notice in unread["notices"]] == ["entry-scored"]
    refused(service.call("bob", "PUT", f"/notices/{newest}/read"), 404, "no-notice")
    assert service.call("bob", "PUT", "/notices/read", json={"up_to": newest}).status_code == 204
    assert service.call("ada", "GET", "/notices").json()["unread"] == 1
    assert service.call("ada", "PUT", "/notices/read", json={"up_to": newest}).status_code == 204
    assert service.call("ada", "GET", "/notices").json()["unread"] == 0


def test_pages_of_notices_and_their_etag(service: Service) -> None:
    notify_person(service, "ada", *list(Kind)[:5])
    seen: list[int] = []
    following: dict[str, int] = {}
    while True:
        page = service.call("ada", "GET", "/notices", params={"limit": 2, **following}).json()
        seen += [notice["id"] for notice in page["notices"]]
        if page["next_after"] is None:
            break
        following = {"after": page["next_after"]}
    assert len(seen) == len(set(seen)) == 5
    assert seen == sorted(seen, reverse=True)
    first = service.call("ada", "GET", "/notices")
    headers = {"If-None-Match": first.headers["etag"]}
    assert service.call("ada", "GET", "/notices", headers=headers).status_code == 304
    assert service.call("bob", "GET", "/notices", headers=headers).status_code == 200
    notify_person(service, "ada", Kind.RULING)
    assert service.call("ada", "GET", "/notices", headers=headers).status_code == 200


def test_people_choose_their_mails(service: Service) -> None:
    mailed = service.call("ada", "GET", "/me/mails").json()["mailed"]
    assert mailed == {kind.value: kind is not Kind.ENTRY_SCORED for kind in Kind}
    changes = {"entry-scored": True, "invitation": False}
    answer = service.call("ada", "PATCH", "/me/mails", json={"mailed": changes})
    assert answer.json()["mailed"] == mailed | changes
    assert service.call("ada", "GET", "/me/mails").json()["mailed"] == mailed | changes
    assert service.call("bob", "GET", "/me/mails").json()["mailed"] == mailed
    unknown = service.call("ada", "PATCH", "/me/mails", json={"mailed": {"gossip": True}})
    assert unknown.status_code == 422


def test_a_notice_arrives_by_mail_once_with_its_address(
    service: Service,
    context: WorkerContext,
    server: tuple[Server, str],
) -> None:
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle="ada").one().email = "ada@example.org"
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    entry = service.submit("ada", slug, with_a_wrong_image(noise_images(11))).json()
    service.run_jobs()
    site = replace(context, settings=context.settings.model_copy(update={"public_url": "https://kennel.example.org"}))
    assert send_due_mails(site) == 1, "by default, rejections are mailed and scores are not"
    assert send_due_mails(site) == 0
    (envelope,) = server[0].taken
    content = envelope.content.decode() if isinstance(envelope.content, bytes) else ""
    assert "Subject: submission.zip was rejected" in content
    assert re.search(rf"^https://kennel\.example\.org/submissions/{entry['id']}\r$", content, re.MULTILINE)


def test_a_webhook_is_created_in_a_browser_and_shows_its_secret_once(service: Service) -> None:
    refused(service.call("ada", "POST", "/webhooks", json={"url": URL}), 403, "session-needed")
    csrf = signed_in(service, "ada")
    made = hook(service, csrf)
    assert made.status_code == 201
    assert made.headers["cache-control"] == "no-store"
    secret = made.json()["secret"]
    assert len(secret) >= 32
    listed = service.call("ada", "GET", "/webhooks")
    assert [webhook["url"] for webhook in listed.json()["webhooks"]] == [URL]
    assert secret not in listed.text
    refused(hook(service, csrf, url="http://hooks.example.org"), 422, "bad-url")
    assert service.call("bob", "GET", "/webhooks").json()["webhooks"] == []


def test_a_test_delivery_is_listed(service: Service) -> None:
    csrf = signed_in(service, "ada")
    webhook = hook(service, csrf).json()["id"]
    sent = browse(service, "POST", f"/webhooks/{webhook}/ping", csrf)
    assert sent.status_code == 202
    (delivery,) = service.call("ada", "GET", f"/webhooks/{webhook}/deliveries").json()["deliveries"]
    assert (delivery["kind"], delivery["state"], delivery["id"]) == ("ping", "waiting", sent.json()["id"])
    refused(service.call("bob", "GET", f"/webhooks/{webhook}/deliveries"), 404, "no-webhook")
    assert browse(service, "DELETE", f"/webhooks/{webhook}", csrf).status_code == 204
    refused(service.call("ada", "GET", f"/webhooks/{webhook}/deliveries"), 404, "no-webhook")


def test_the_number_of_webhooks_is_limited(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MAX_WEBHOOKS", 2)
    csrf = signed_in(service, "ada")
    assert [hook(service, csrf).status_code for _ in range(2)] == [201, 201]
    refused(hook(service, csrf), 409, "too-many-webhooks")


def test_test_deliveries_are_limited(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    rated(service, monkeypatch, webhook_ping="2/hour")
    csrf = signed_in(service, "ada")
    path = f"/webhooks/{hook(service, csrf).json()['id']}/ping"
    assert [browse(service, "POST", path, csrf).status_code for _ in range(3)] == [202, 202, 429]
    fields = {"csrf": csrf}
    shown = service.http.post(f"/account/notices{path}", data=fields)
    assert (shown.status_code, "too many requests" in shown.text) == (429, True)


@pytest.mark.parametrize("path", ["/notices", "/me/mails", "/webhooks"])
def test_visitors_cannot_read_notices(service: Service, path: str) -> None:
    refused(service.call(None, "GET", path), 401, "no-token")


def test_a_token_with_the_scope_read_cannot_change_notices(service: Service) -> None:
    csrf = signed_in(service, "ada")
    made = browse(service, "POST", "/tokens", csrf, json={"name": "reader", "scopes": ["read"]}).json()
    service.http.cookies.clear()
    service.tokens["reader"] = made["token"]
    assert service.call("reader", "GET", "/notices").status_code == 200
    refused(service.call("reader", "PUT", "/notices/read", json={"up_to": 1}), 403, "wrong-scope")
    refused(service.call("reader", "PATCH", "/me/mails", json={"mailed": {}}), 403, "wrong-scope")


def test_creating_a_webhook_needs_the_csrf_token(service: Service) -> None:
    signed_in(service, "ada")
    refused(hook(service, ""), 403, "csrf")
    assert service.http.get(f"{API}/webhooks").json()["webhooks"] == []
