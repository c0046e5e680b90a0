"""Limits of signing in: guessing is slow from every network, and strangers cannot lock out an account's owner."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr

from api.http.rate_limits import find_network
from tests.api.accounts.grace import GOOD, GRACE, confirmed, link_in, mails, set_password, sign_up
from tests.api.conftest import API, Service, rated, refused

HOME, ELSEWHERE = "192.0.2.1", "192.0.2.99"


def attempt(service: Service, address: str, password: str, *, login: str = "grace", device: str = "") -> Any:
    """Try to sign in from an address, in a new browser or with a device's cookie."""
    http = TestClient(service.app, client=(address, 50_000), cookies={"kennel-device": device} if device else {})
    return http.post(f"{API}/session", json={"login": login, "password": password})


def besiege(service: Service, attempts: int) -> None:
    """Send wrong passwords for Grace, each from another network."""
    for number in range(attempts):
        assert attempt(service, f"198.51.{number}.1", "wrong").status_code == 401


@pytest.mark.parametrize(
    ("address", "host", "site"),
    [
        ("192.0.2.77", "192.0.2.77/32", "192.0.2.0/24"),
        ("::ffff:192.0.2.77", "192.0.2.77/32", "192.0.2.0/24"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("testclient", "testclient", "testclient"),
    ],
)
def test_addresses_are_grouped_into_networks(address: str, host: str, site: str) -> None:
    assert find_network(address) == host
    assert find_network(address, ipv4_bits=24, ipv6_bits=48) == site


def test_strangers_do_not_lock_out_the_owner(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    rated(service, monkeypatch, sign_in_account="3/hour", sign_in_network="2/hour")
    device = attempt(service, HOME, GOOD).cookies["kennel-device"]
    besiege(service, 5)
    assert attempt(service, "192.0.2.200", GOOD).status_code == 201, "a new browser also signs in"
    for _ in range(4):
        assert attempt(service, ELSEWHERE, GOOD, device=device).status_code == 201
        assert attempt(service, ELSEWHERE, "mistyped", device=device).status_code == 401


def test_mistakes_in_a_known_browser_do_not_lower_other_limits(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They do not count as failures that lower the limit of other networks."""
    sign_up(service)
    rated(service, monkeypatch, sign_in_account="2/hour", sign_in_network="1/hour")
    device = attempt(service, HOME, GOOD).cookies["kennel-device"]
    for _ in range(3):
        assert attempt(service, HOME, "mistyped", device=device).status_code == 401
    assert [attempt(service, ELSEWHERE, "mistyped").status_code for _ in range(2)] == [401, 401]


def test_guesses_at_an_account_lower_the_limit_of_each_network(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_up(service)
    rated(service, monkeypatch, sign_in_account="3/hour", sign_in_network="2/hour")
    besiege(service, 3)
    statuses = [attempt(service, f"203.0.113.{host}", "wrong").status_code for host in range(4)]
    assert statuses == [401, 401, 429, 429], "the addresses of a network share a limit"
    assert attempt(service, "203.0.113.9", "wrong", login="ada").status_code == 401, "other accounts are not affected"


def test_handle_and_address_of_an_account_share_a_limit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    confirmed(service)
    rated(service, monkeypatch, sign_in="2/hour")
    statuses = [
        attempt(service, HOME, "wrong", login=login).status_code for login in ("grace", GRACE["email"], "GRACE")
    ]
    assert statuses == [401, 401, 429]


def test_a_successful_sign_in_is_not_counted_as_a_failure(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    rated(service, monkeypatch, sign_in_account="2/hour", sign_in_network="1/hour")
    assert [attempt(service, HOME, GOOD).status_code for _ in range(5)] == [201] * 5


def test_a_known_browser_has_the_same_limit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    rated(service, monkeypatch, sign_in="2/hour")
    device = attempt(service, HOME, GOOD).cookies["kennel-device"]
    statuses = [attempt(service, f"198.51.100.{n}", "wrong", device=device).status_code for n in range(4)]
    assert statuses == [401, 401, 429, 429], "a stolen cookie has one limit in all networks"
    assert attempt(service, HOME, GOOD).status_code == 201


def test_a_browser_is_known_only_for_accounts_that_signed_in(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    sign_up(service, handle="other", email="other@example.org")
    device = attempt(service, HOME, GOOD, login="other").cookies["kennel-device"]
    rated(service, monkeypatch, sign_in="1/hour")
    for known in ("x" * 43, "made up", device):
        assert attempt(service, HOME, "wrong", login="grace", device=known).status_code in {401, 429}
    refused(attempt(service, HOME, GOOD, device=device), 429, "too-often")
    assert attempt(service, HOME, GOOD, login="other", device=device).status_code == 201


def test_a_browser_can_be_known_for_two_accounts(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_up(service)
    sign_up(service, handle="other", email="other@example.org")
    device = attempt(service, HOME, GOOD).cookies["kennel-device"]
    assert attempt(service, HOME, GOOD, login="other", device=device).cookies["kennel-device"] == device
    rated(service, monkeypatch, sign_in_address="1/hour")
    for login in ("grace", "other", "grace"):
        assert attempt(service, HOME, GOOD, login=login, device=device).status_code == 201


def test_a_reset_makes_browsers_unknown(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    confirmed(service)
    device = attempt(service, HOME, GOOD).cookies["kennel-device"]
    service.http.post(f"{API}/password-resets", json={"email": GRACE["email"]})
    set_password(service, link_in(mails(service)[-1]), "a better password")
    rated(service, monkeypatch, sign_in_account="2/hour", sign_in_network="1/hour")
    besiege(service, 2)
    statuses = [attempt(service, ELSEWHERE, "wrong", device=device).status_code for _ in range(2)]
    assert statuses == [401, 429]


def test_without_redis_people_sign_in_and_guesses_are_limited(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    confirmed(service)
    nowhere = service.context.settings.model_copy(update={"redis_url": SecretStr("redis://127.0.0.1:1/0")})
    monkeypatch.setattr(service.context, "settings", nowhere)
    rated(service, monkeypatch, sign_in="2/hour", sign_in_account="4/hour", sign_in_network="1/hour", request="3/hour")
    assert [attempt(service, HOME, password).status_code for password in ("wrong", GOOD) * 2] == [401, 201] * 2
    statuses = [attempt(service, ELSEWHERE, "wrong").status_code for _ in range(3)]
    assert statuses == [401, 401, 429], "the limit of one address"
    assert [attempt(service, f"203.0.113.{host}", "wrong").status_code for host in range(2)] == [401, 429]
    assert [service.call("ada", "GET", "/me").status_code for _ in range(4)] == [200, 200, 200, 429]
