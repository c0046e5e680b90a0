"""The visitor's address behind proxies: Kennel believes trusted proxies and nobody else."""

import asyncio
import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from api.http.client_address import ClientAddress, find_visitor, parse_address
from deploy.standalone.service import service_children
from scorer.db.tables import AuditEntry
from scorer.errors import Unavailable
from scorer.settings import read_settings
from tests.api.accounts.grace import GOOD
from tests.api.conftest import API, Service, rated

PROXY, VISITOR, OTHER = "10.0.0.2", "198.51.100.7", "203.0.113.9"
TRUSTED = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:443", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("fe80::1%eth0", None),
        ('not an address\t"<script>', None),
        ("192.0.2.256", None),
        ("unknown", None),
        ("", None),
    ],
)
def test_addresses_are_parsed(text: str, address: str | None) -> None:
    assert parse_address(text) == (ip_address(address) if address else None)


@pytest.mark.parametrize(
    ("hops", "visitor"),
    [
        ([VISITOR], VISITOR),
        ([VISITOR, OTHER], VISITOR),  # nobody trusted wrote the addresses before it
        (["10.9.9.9", VISITOR, OTHER], VISITOR),
        (["10.9.9.9", "10.1.1.1"], "10.1.1.1"),
        (["fd00::1", "2001:db8::1"], "2001:db8::1"),
        (["no address", VISITOR], PROXY),
        (["10.9.9.9", "no address", VISITOR], "10.9.9.9"),
        ([], PROXY),
    ],
)
def test_the_visitor_is_the_nearest_address_that_is_not_a_proxy(hops: list[str], visitor: str) -> None:
    assert find_visitor(ip_address(PROXY), hops, TRUSTED) == ip_address(visitor)


def trust(service: Service, monkeypatch: pytest.MonkeyPatch, *networks: IPv4Network | IPv6Network) -> None:
    settings = service.app.state.settings.model_copy(update={"trusted_proxies": networks})
    monkeypatch.setattr(service.app.state, "settings", settings)


def fail_to_sign_in(service: Service, peer: str, forwarded: str, login: str = "ada") -> int:
    """Send a wrong password over a connection from ``peer`` and return the status."""
    http = TestClient(service.app, client=(peer, 50_000))
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    body = {"login": login, "password": "wrong"}
    status: int = http.post(f"{API}/session", json=body, headers=headers).status_code
    return status


def audited_address(service: Service) -> str | None:
    """Return the address in the newest entry of the audit log."""
    with service.context.sessions() as session:
        return session.query(AuditEntry).order_by(AuditEntry.id).all()[-1].address


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        (PROXY, VISITOR, VISITOR),
        (PROXY, f"{OTHER}, {VISITOR}:1234", VISITOR),
        (PROXY, 'not an address\t"<script>', PROXY),
        (PROXY, "", PROXY),
        (f"::ffff:{PROXY}", VISITOR, VISITOR),
        (VISITOR, OTHER, VISITOR),  # not a trusted proxy
        ("127.0.0.1", OTHER, "127.0.0.1"),  # this machine is not trusted either
    ],
)
def test_the_audit_log_has_the_address_of_the_visitor(
    service: Service, monkeypatch: pytest.MonkeyPatch, peer: str, forwarded: str, address: str
) -> None:
    trust(service, monkeypatch, *TRUSTED)
    assert fail_to_sign_in(service, peer, forwarded) == 401
    assert audited_address(service) == address


@pytest.mark.parametrize(("peer", "scheme"), [(PROXY, "https"), (VISITOR, "http")])
def test_only_trusted_proxies_can_set_the_scheme(peer: str, scheme: str) -> None:
    seen: Scope = {}

    async def application(scope: Scope, _: Receive, __: Send) -> None:
        seen.update(scope)

    async def receive() -> Message:
        return {}

    async def send(_: Message) -> None:
        pass

    state = SimpleNamespace(settings=SimpleNamespace(trusted_proxies=TRUSTED))
    headers = [(b"x-forwarded-proto", b"https"), (b"x-forwarded-for", OTHER.encode())]
    scope = {"type": "http", "app": SimpleNamespace(state=state), "client": (peer, 50_000), "scheme": "http"}
    asyncio.run(ClientAddress(application)(scope | {"headers": headers}, receive, send))
    assert seen["scheme"] == scheme


def test_forged_addresses_do_not_escape_a_limit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    rated(service, monkeypatch, sign_in="3/hour")
    statuses = [fail_to_sign_in(service, "127.0.0.1", f"198.51.100.{number}") for number in range(5)]
    assert statuses == [401, 401, 401, 429, 429]


def test_visitors_behind_a_trusted_proxy_are_counted_separately(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(service, monkeypatch, *TRUSTED)
    rated(service, monkeypatch, sign_in_address="1/hour")
    visitors = ["198.51.100.1", "198.51.100.2", "198.51.100.1", "x"]
    assert [fail_to_sign_in(service, PROXY, visitor) for visitor in visitors] == [401, 401, 429, 401]


def test_mails_that_an_account_requests_are_counted_per_account(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    browsers = [signed_up(service, *who) for who in (("carl", VISITOR), ("carl", OTHER), ("dora", VISITOR))]
    rated(service, monkeypatch, sign_in="9/hour", mail_address="1/hour")
    asked = {"email": "new@example.org", "password": GOOD}
    assert [http.put(f"{API}/me/email", json=asked).status_code for http in browsers] == [202, 429, 202]


def signed_up(service: Service, handle: str, peer: str) -> TestClient:
    """Return a browser at an address, signed in to an account. Create the account if it does not exist."""
    http = TestClient(service.app, client=(peer, 50_000))
    http.post(f"{API}/accounts", json={"handle": handle, "email": f"{handle}@example.org", "password": GOOD})
    answer = http.post(f"{API}/session", json={"login": handle, "password": GOOD})
    http.headers["X-CSRF-Token"] = answer.json()["csrf_token"]
    return http


def test_web_processes_leave_proxies_to_the_setting(tmp_path: Path) -> None:
    web = service_children({}, tmp_path, 8000)[0]
    assert "--no-proxy-headers" in web.argv
    dockerfile = (Path(__file__).parents[3] / "deploy" / "Dockerfile").read_text()
    assert re.findall(r'"uvicorn".*"(--(?:no-)?proxy-headers)"', dockerfile) == ["--no-proxy-headers"]


def test_trusted_proxies_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KENNEL_TRUSTED_PROXIES", "127.0.0.1, 10.0.0.0/8,::1")
    addresses = {"DATABASE_URL": "postgresql://x/x", "REDIS_URL": "redis://x", "BLOB_URL": tmp_path.as_uri()}
    trusted = read_settings(addresses).trusted_proxies
    assert [str(network) for network in trusted] == ["127.0.0.1/32", "10.0.0.0/8", "::1/128"]
    monkeypatch.setenv("KENNEL_TRUSTED_PROXIES", "proxy")
    with pytest.raises(Unavailable, match="KENNEL_TRUSTED_PROXIES: "):
        read_settings(addresses)
