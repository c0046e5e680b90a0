"""A thief's requests during the recovery of an account end with the thief's other credentials."""

from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic, sleep
from typing import Any

import pytest
from sqlalchemy import text

from scorer.accounts import api_tokens, password_hashing, password_resets, sessions
from scorer.accounts.credentials import end_credentials
from scorer.accounts.sessions import Browser
from scorer.db.tables import Account, Mail, WebSession
from scorer.identifiers import new_secret
from tests.api.accounts.grace import BETTER, GOOD, GRACE, armed, browse, link_in, mails, set_password, sign_in
from tests.api.conftest import API, Service, refused


def until_it_waits(service: Service, request: Future[Any]) -> None:
    """Return when a request waits for a database lock or has ended."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    deadline = monotonic() + 60
    while not request.done():
        with service.context.sessions() as session:
            if session.scalar(waiting):
                return
        assert monotonic() < deadline
        sleep(0.02)


def grace(session: Any) -> Account:
    account: Account = session.query(Account).filter_by(handle="grace").one()
    return account


def reset_link(service: Service) -> str:
    """Request a mailed link for a new password and return its secret."""
    service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]})
    return link_in(mails(service)[-1])


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/tokens", {"name": "late"}),
        ("POST", "/webhooks", {"url": "https://late.example.org/"}),
        ("PUT", "/me/email", {"email": "late@example.org", "password": GOOD}),
    ],
)
def test_a_session_that_is_being_ended_creates_nothing(
    service: Service, method: str, path: str, body: dict[str, str]
) -> None:
    csrf, _ = armed(service)
    with ThreadPoolExecutor(1) as pool, service.context.sessions.begin() as session:
        end_credentials(session, grace(session), now=service.context.now())
        late = pool.submit(browse, service, method, path, csrf, json=body)
        until_it_waits(service, late)
    refused(late.result(60), 401, "no-session")
    with service.context.sessions() as session:
        assert session.query(Mail).filter_by(recipient="late@example.org").count() == 0


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/account/tokens", {"name": "late", "scope": "read"}),
        ("/account/notices/webhooks", {"url": "https://late.example.org/"}),
    ],
)
def test_pages_of_a_session_that_is_being_ended_create_nothing(
    service: Service, path: str, fields: dict[str, str]
) -> None:
    csrf, _ = armed(service)
    with ThreadPoolExecutor(1) as pool, service.context.sessions.begin() as session:
        end_credentials(session, grace(session), now=service.context.now())
        late = pool.submit(service.http.post, path, data={"csrf": csrf, **fields})
        until_it_waits(service, late)
    assert late.result(60).status_code == 401


def test_a_token_that_is_being_created_ends_with_its_session(service: Service) -> None:
    armed(service)
    link, secret = reset_link(service), new_secret()
    with ThreadPoolExecutor(1) as pool, service.context.sessions.begin() as session:
        now, owner = service.context.now(), grace(session)
        sessions.hold(session, session.query(WebSession).filter_by(account_id=owner.id).one().id, now)
        api_tokens.issue(session, owner, secret, name="late", now=now)
        reset = pool.submit(set_password, service, link, BETTER)
        until_it_waits(service, reset)
    assert reset.result(60).status_code == 204
    service.tokens["late"] = secret
    refused(service.call("late", "GET", "/me"), 401, "bad-token")


def test_the_old_password_opens_no_session_while_it_is_replaced(service: Service) -> None:
    armed(service)
    link, better = reset_link(service), password_hashing.hash_password(BETTER)
    with ThreadPoolExecutor(1) as pool, service.context.sessions.begin() as session:
        password_resets.complete(session, link, better, now=service.context.now())
        session.flush()
        late = pool.submit(sign_in, service)
        until_it_waits(service, late)
    refused(late.result(60), 401, "wrong-login")


def test_a_session_that_is_being_opened_ends_with_the_old_password(service: Service) -> None:
    armed(service)
    link, secret = reset_link(service), new_secret()
    with ThreadPoolExecutor(1) as pool, service.context.sessions.begin() as session:
        matched, browser = grace(session).password_hash, Browser("198.51.100.7")
        assert sessions.sign_in(session, "grace", matched, secret=secret, browser=browser, now=service.context.now())
        session.flush()
        reset = pool.submit(set_password, service, link, BETTER)
        until_it_waits(service, reset)
    assert reset.result(60).status_code == 204
    service.http.cookies.clear()
    service.http.cookies.set("kennel", secret)
    assert browse(service, "GET", "/me").status_code == 401


def test_a_session_does_not_work_while_its_account_is_suspended(service: Service) -> None:
    armed(service)
    with service.context.sessions.begin() as session:
        owner = grace(session)
        owner.suspended_at = owner.created_at
    assert browse(service, "GET", "/me").status_code == 401
    with service.context.sessions.begin() as session:
        grace(session).suspended_at = None
    assert browse(service, "GET", "/me").status_code == 200
