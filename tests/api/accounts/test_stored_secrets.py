"""Secrets that the database and its backups hold in plain text, and secrets in logged addresses: none."""

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from sqlalchemy import text

from api.http.access_log import REDACTED, redact
from api.main import create_app
from deploy.standalone.ports import free_port
from scorer.settings import Settings
from tests.api.accounts.grace import GOOD, GRACE, browse, confirm, link_in, mails, with_totp
from tests.api.conftest import API, Service, rows_by_table


def all_secrets(service: Service) -> dict[str, str]:
    """Create a secret of every kind that a person can have. Return them by name."""
    csrf, key = with_totp(service)
    secrets = {"password": GOOD, "TOTP key": key, "confirmation": link_in(mails(service)[-1])}
    confirm(service, secrets["confirmation"])
    service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]})
    secrets["reset"] = link_in(mails(service)[-1])
    invitation_answer = service.call("organizer", "POST", "/admin/invitations", json={"email": "iris@example.org"})
    secrets["invitation"] = invitation_answer.json()["link"].partition("#")[2]

    def made(what: str, path: str, **body: Any) -> Any:
        answer = browse(service, "POST", path, csrf, json=body)
        assert answer.status_code == 201, what
        return answer.json()

    secrets["token"] = made("token", "/tokens", name="t")["token"]
    secrets["webhook"] = made("webhook", "/webhooks", url="https://hooks.example.org/")["secret"]
    secrets["recovery code"] = made("codes", "/me/recovery-codes", password=GOOD)["codes"][0]
    cookies = service.http.cookies
    return secrets | {"session": cookies["kennel"], "device": cookies["kennel-device"], "CSRF token": csrf}


def test_only_secrets_that_the_service_uses_are_stored_in_plain_text(service: Service) -> None:
    secrets = all_secrets(service)
    tables = rows_by_table(service)
    stored: dict[str, set[str]] = {}
    for name, secret in secrets.items():
        spellings = (secret, secret.replace("-", ""))
        forms = {form for text in spellings for form in (text.lower(), text.encode().hex())}
        stored[name] = {table for table, rows in tables.items() if any(form in rows for form in forms)}
    assert {name: where for name, where in stored.items() if where} == {
        "TOTP key": {"second_factors"},
        "webhook": {"webhooks"},
        **{link: {"mails"} for link in ("confirmation", "reset", "invitation")},  # until the mails are sent
    }
    with service.context.sessions() as session:
        password_hash = session.execute(text("SELECT password_hash FROM accounts WHERE handle = 'grace'")).scalar_one()
    assert password_hash.startswith("$argon2id$")


SECRET_NAMES = {"link", "secret", "token"}
SECRET = "aVerySecret_Word-1234567890"


@pytest.mark.parametrize(
    ("address", "redacted"),
    [
        (f"/signup?next=/x&invitation={SECRET}&b=c", f"/signup?next=/x&invitation={REDACTED}&b=c"),
        (f"/signin/oidc/return?code={SECRET}&state={SECRET}", f"/signin/oidc/return?code={REDACTED}&state={REDACTED}"),
        ("/reset", "/reset"),
        ("/competitions/dogs?track=private&after=100", "/competitions/dogs?track=private&after=100"),
        ("/submissions/abc/code", "/submissions/abc/code"),
    ],
)
def test_redaction_removes_only_secrets_from_an_address(address: str, redacted: str) -> None:
    assert redact(address) == redacted


@pytest.fixture
def app() -> FastAPI:
    return create_app(
        Settings(database_url="postgresql://x@127.0.0.1/x", redis_url="redis://127.0.0.1", blob_url="file:///tmp")
    )


def test_no_route_has_a_secret_in_its_path(app: FastAPI) -> None:
    paths = [context.path or "" for context in iter_route_contexts(app.routes)]
    secret = {path for path in paths if any(f"{{{name}}}" in path for name in SECRET_NAMES)}
    assert "/signup" in paths
    assert not secret


def test_logs_and_metrics_have_no_secrets_of_addresses(settings: Settings, tmp_path: Path) -> None:
    variables = {
        "DATABASE_URL": settings.database_url.get_secret_value(),
        "REDIS_URL": settings.redis_url.get_secret_value(),
        "BLOB_URL": settings.blob_url,
        "KENNEL_METRICS_TOKEN": "scraper",
    }
    port = free_port()
    log = tmp_path / "log"
    command = (sys.executable, "-m", "uvicorn", "--factory", "api.main:served_app", "--port", str(port))
    with (
        log.open("wb") as file,
        subprocess.Popen(command, stdout=file, stderr=file, env={**os.environ, **variables}) as api,
    ):
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
                answered(client)
                assert client.get("/signup", params={"invitation": SECRET}).status_code == 200
                metrics = client.get("/metrics", headers={"Authorization": "Bearer scraper"})
        finally:
            api.terminate()
    lines = log.read_text()
    requests = [line for line in map(json.loads, lines.splitlines()) if line["event"] == "request"]
    assert (f"/signup?invitation={REDACTED}", 200) in {(line["path"], line["status"]) for line in requests}
    assert metrics.status_code == 200
    assert "/signup" in metrics.text
    assert SECRET not in metrics.text
    assert '"GET ' not in lines  # uvicorn's own line for each request
    assert SECRET not in lines


def answered(client: httpx.Client) -> None:
    """Wait up to 60 s until the server answers."""
    for _ in range(600):
        with suppress(httpx.TransportError):
            client.get("/api/v1/health")
            return
        sleep(0.1)
    pytest.fail("The server does not answer.")
