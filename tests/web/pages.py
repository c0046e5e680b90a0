"""Uses the pages like a browser without scripts: signs people in, reads pages and sends forms."""

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
    """Sign this person in, and sign the previous person out."""
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
    """Request a page and check its status."""
    answer = service.http.get(address, headers=HTML)
    assert answer.status_code == status, answer.text
    return parse_html(answer.text)


def hidden(page: Element, action: str) -> dict[str, str]:
    """The hidden fields of the form with this ``action``."""
    (form,) = [candidate for candidate in page.all("form") if candidate.attributes.get("action", "") == action]
    return {field.attributes["name"]: field.attributes["value"] for field in form.all("input", type="hidden")}


def start_session(service: Service, handle: str) -> str:
    """The cookie of a new session of a person."""
    secret = secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle=handle).one()
        sessions.begin(session, account, secret=secret, browser=Browser("127.0.0.1", "a test"), now=now)
    return secret


def send(service: Service, address: str, fields: dict[str, Any], **options: Any) -> Any:
    """Send a form as its page does, and follow redirects."""
    return service.http.post(address, data=fields, headers=HTML, **options)


def sign_up(service: Service, **changes: str) -> Any:
    """Submit the sign-up form for Grace."""
    return send(
        service, "/signup", {**hidden(read(service, "/signup"), "/signup"), **GRACE, "name": "Grace H.", **changes}
    )


def press(service: Service, page: str, action: str, **fields: Any) -> Any:
    """Send a form of a page with its hidden fields, and follow redirects."""
    return send(service, action or page, {**hidden(read(service, page), action), **fields})


def answer_to(service: Service, page: str, action: str, **fields: Any) -> Any:
    """Send the form with this ``action`` from a page, and return the direct answer."""
    data = {**hidden(read(service, page), action), **fields}
    address = action.partition("#")[0] or page
    return service.http.post(address, data=data, headers=HTML, follow_redirects=False)


def send_form(service: Service, page: Element, action: str, status: int = 303, **fields: str) -> Any:
    """Send a form of a page that was read before, and check the status of the answer."""
    answer = service.http.post(action, data=hidden(page, action) | fields, headers=HTML, follow_redirects=False)
    assert answer.status_code == status, answer.text
    return answer
