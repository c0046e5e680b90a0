"""The pages as a browser without scripts uses them: who is signed in, what is read, which forms are sent."""

import secrets
from datetime import UTC, datetime
from typing import Any

from scorer.accounts import sessions
from scorer.accounts.sessions import Browser
from scorer.db import accounts
from scorer.db.tables import Account
from tests.api.accounts.grace import GRACE
from tests.api.conftest import Service
from tests.web.html import Element, parse_html

HTML = {"Accept": "text/html"}


def enter(service: Service, who: str | None) -> None:
    """From now on the browser is this person's."""
    service.http.cookies.clear()
    if who is not None:
        secret = f"session-of-{who}"
        with service.context.sessions.begin() as session:
            account = accounts.account_by_handle(session, who)
            assert account is not None
            if sessions.resume(session, secret, datetime.now(UTC)) is None:
                sessions.begin(session, account, secret=secret, browser=Browser("test", ""), now=datetime.now(UTC))
        service.http.cookies.set("kennel", secret)


def read(service: Service, address: str, status: int = 200) -> Element:
    """A page."""
    answer = service.http.get(address, headers=HTML)
    assert answer.status_code == status, answer.text
    return parse_html(answer.text)


def hidden(page: Element, action: str) -> dict[str, str]:
    """The hidden fields of the form that goes to ``action``."""
    (form,) = [each for each in page.all("form") if each.attributes.get("action", "") == action]
    return {each.attributes["name"]: each.attributes["value"] for each in form.all("input", type="hidden")}


def session_of(service: Service, handle: str) -> str:
    """The session cookie of a person."""
    secret = secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle=handle).one()
        sessions.begin(session, account, secret=secret, browser=Browser("127.0.0.1", "a test"), now=now)
    return secret


def send(service: Service, address: str, fields: dict[str, Any], **options: Any) -> Any:
    """A form, sent as its page would, and where it leads."""
    return service.http.post(address, data=fields, headers=HTML, **options)


def sign_up(service: Service, **changes: str) -> Any:
    """Grace fills in the form."""
    return send(
        service, "/signup", {**hidden(read(service, "/signup"), "/signup"), **GRACE, "name": "Grace H.", **changes}
    )


def press(service: Service, page: str, action: str, **fields: Any) -> Any:
    """Send one of a page's forms."""
    return send(service, action or page, {**hidden(read(service, page), action), **fields})


def answer_to(service: Service, page: str, action: str, **fields: Any) -> Any:
    """The answer to the form of a page that goes to ``action``, filled in."""
    data = {**hidden(read(service, page), action), **fields}
    address = action.partition("#")[0] or page
    return service.http.post(address, data=data, headers=HTML, follow_redirects=False)


def send_form(service: Service, page: Element, action: str, status: int = 303, **fields: str) -> Any:
    """Send a page's form."""
    answer = service.http.post(action, data=hidden(page, action) | fields, headers=HTML, follow_redirects=False)
    assert answer.status_code == status, answer.text
    return answer
