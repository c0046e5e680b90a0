"""Which secrets the database, and so a backup, has in clear: those that the service itself must send or sign with."""

from typing import Any

from sqlalchemy import text

from tests.api.accounts.test_accounts import GOOD, GRACE, browse, confirm, link_in, mails
from tests.api.accounts.test_personal_data import rows_by_table
from tests.api.accounts.test_second_factors import with_totp
from tests.api.conftest import API, Service


def all_secrets(service: Service) -> dict[str, str]:
    """One of every kind that a person can have, by name."""
    csrf, key = with_totp(service)
    secrets = {"password": GOOD, "key of codes": key, "confirmation": link_in(mails(service)[-1])}
    confirm(service, secrets["confirmation"])
    service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]})
    secrets["reset"] = link_in(mails(service)[-1])
    invited = service.call("organizer", "POST", "/admin/invitations", json={"email": "iris@example.org"})
    secrets["invitation"] = invited.json()["link"].partition("#")[2]

    def made(what: str, path: str, **body: Any) -> Any:
        answer = browse(service, "POST", path, csrf, json=body)
        assert answer.status_code == 201, what
        return answer.json()

    secrets["token"] = made("token", "/tokens", name="t")["token"]
    secrets["webhook"] = made("webhook", "/webhooks", url="https://hooks.example.org/")["secret"]
    secrets["recovery code"] = made("codes", "/me/recovery-codes", password=GOOD)["codes"][0]
    cookies = service.http.cookies
    return secrets | {"session": cookies["kennel"], "device": cookies["kennel-device"], "proof of forms": csrf}


def test_no_secret_is_stored_but_those_that_the_service_itself_uses(service: Service) -> None:
    secrets = all_secrets(service)
    tables = rows_by_table(service)
    stored: dict[str, set[str]] = {}
    for name, secret in secrets.items():
        forms = {form for each in (secret, secret.replace("-", "")) for form in (each.lower(), each.encode().hex())}
        stored[name] = {table for table, rows in tables.items() if any(form in rows for form in forms)}
    assert {name: where for name, where in stored.items() if where} == {
        "key of codes": {"second_factors"},
        "webhook": {"webhooks"},
        **{link: {"mails"} for link in ("confirmation", "reset", "invitation")},  # until they are sent
    }
    with service.context.sessions() as session:
        password_hash = session.execute(text("SELECT password_hash FROM accounts WHERE handle = 'grace'")).scalar_one()
    assert password_hash.startswith("$argon2id$")
