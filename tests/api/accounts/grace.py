"""Grace, who signs up, confirms her address, signs in, and protects her account."""

import re
from datetime import UTC, datetime
from typing import Any

import pyotp

from api.http.dependencies import request_time
from scorer.db.tables import Account, Mail
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText
from tests.api.conftest import API, Service

GOOD = "correct horse battery"
GRACE = {"handle": "grace", "email": "grace@example.org", "password": GOOD}


def sign_up(service: Service, **changes: str) -> Any:
    return service.http.post(f"{API}/accounts", json={**GRACE, **changes})


def sign_in(service: Service, login: str = "grace", password: str = GOOD, **headers: str) -> Any:
    """Try to sign in. The client stores the cookie."""
    return service.http.post(f"{API}/session", json={"login": login, "password": password}, headers=headers)


def browse(service: Service, method: str, path: str, csrf: str = "", **options: Any) -> Any:
    """Send a request with the client's cookie."""
    headers = {"X-CSRF-Token": csrf} if csrf else {}
    return service.http.request(method, f"{API}{path}", headers=headers, **options)


def mails(service: Service) -> list[Mail]:
    """Return the mails in the outbox, oldest first."""
    with service.context.sessions() as session:
        return session.query(Mail).order_by(Mail.id).all()


def link_in(mail: Mail) -> str:
    """Return the secret at the end of the link in a mail."""
    match = re.search(r"/(?:confirm|new-password|signup)#(\S+)", mail.body)
    assert match, mail.body
    return match[1]


def confirm(service: Service, link: str) -> Any:
    return service.http.post(f"{API}/email-confirmations", json={"link": link})


def set_password(service: Service, link: str, password: str) -> Any:
    return service.http.post(f"{API}/password-resets/completion", json={"link": link, "password": password})


def signed_in(service: Service, **changes: str) -> str:
    """Create Grace's account, sign her in and return the CSRF token of her session."""
    assert sign_up(service, **changes).status_code == 201
    answer = sign_in(service, changes.get("handle", "grace"))
    assert answer.status_code == 201
    csrf: str = answer.json()["csrf_token"]
    return csrf


def confirmed(service: Service) -> None:
    """Sign Grace up and confirm her address."""
    sign_up(service)
    confirm(service, link_in(mails(service)[0]))


def token_with(service: Service, csrf: str, *scopes: str) -> str:
    """Create a token and return its secret."""
    made = browse(service, "POST", "/tokens", csrf, json={"name": "-".join(scopes), "scopes": list(scopes)})
    assert made.status_code == 201
    secret: str = made.json()["token"]
    return secret


BETTER = "a better password"


def armed(service: Service) -> tuple[str, dict[str, int]]:
    """Give Grace a session, two tokens and two webhooks. Return the CSRF token, and the ids by name."""
    confirmed(service)
    csrf = sign_in(service).json()["csrf_token"]
    ids: dict[str, int] = {}
    for name in ("laptop", "thief"):
        made = browse(service, "POST", "/tokens", csrf, json={"name": name}).json()
        hook = browse(service, "POST", "/webhooks", csrf, json={"url": f"https://{name}.example.org/"}).json()
        service.tokens[name] = made["token"]
        ids |= {name: made["id"], f"webhook of {name}": hook["id"]}
    return csrf, ids


SETUP = "/me/second-factors"
MOMENT = datetime.now(UTC)
"""The time of all requests that use codes: no time step ends during a test."""


def compute_code(key: str, steps: int = 0) -> str:
    """Return the code of a key at ``MOMENT``, or ``steps`` steps of 30 s later."""
    return pyotp.TOTP(key).at(MOMENT.timestamp() + 30 * steps)


def stop_clock(service: Service) -> None:
    """Give all requests the time ``MOMENT``."""
    service.app.dependency_overrides[request_time] = lambda: MOMENT


def with_totp(service: Service) -> tuple[str, str]:
    """Give Grace an authenticator. Return her session's CSRF token, and the key; its next code is unused."""
    stop_clock(service)
    csrf = signed_in(service)
    key = browse(service, "POST", f"{SETUP}/totp-key", csrf).json()["key"]
    body = {"key": key, "code": compute_code(key, -1), "password": GOOD}
    assert browse(service, "POST", f"{SETUP}/totp", csrf, json=body).status_code == 204
    return csrf, key


def second_step(service: Service, **proof: str) -> Any:
    """Send the second step with the cookie of the first."""
    return browse(service, "POST", "/session/second-factor", json=proof)


def send_notices(service: Service, *subjects: str) -> None:
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle="grace").one()
        for subject in subjects:
            now = service.context.now()
            notice = NoticeText(Kind.RULING, subject, "One line.\nAnother.", "/competitions")
            notices.notify(session, notice, now, accounts=[account.id])
