"""Sign-in with issuers that differ from each other: their names, claims, clocks and keys; and what is logged."""

import re
import time
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from api.accounts.oidc.issuer_metadata import IssuerMetadata
from tests.api.conftest import Service
from tests.web.accounts.oidc_issuer import FakeIssuer, arrive, configure, depart, me, travel
from tests.web.html import parse_html
from tests.web.pages import HTML

TENANT, OTHER_TENANT = "9188040d-6c67-4c5b-b112-36a304b66dad", "72f988bf-86f1-41af-91ab-2d7cd011db47"


def refusal(caplog: pytest.LogCaptureFixture) -> str:
    """The one reason in the log."""
    (record,) = [record for record in caplog.records if record.name == "api.accounts.oidc.login"]
    return record.getMessage()


@pytest.mark.parametrize("end", ["", "/"])
def test_an_issuer_may_end_with_a_slash(service: Service, issuer: FakeIssuer, end: str) -> None:
    issuer.described, issuer.claims = {"issuer": issuer.address + end}, {"iss": issuer.address + end}
    assert travel(service, issuer).status_code == 200
    assert me(service)["handle"] == "grace"


def of_tenants(service: Service, issuer: FakeIssuer, tenant: str = "common") -> None:
    """Make it an issuer of many tenants, as Microsoft Entra is."""
    configure(service, oidc_issuer=f"{issuer.address}/{tenant}/v2.0")
    issuer.described = {"issuer": f"{issuer.address}/{{tenantid}}/v2.0"}
    issuer.claims = {"iss": f"{issuer.address}/{TENANT}/v2.0", "tid": TENANT}


@pytest.mark.parametrize("key_issuer", [None, "{tenantid}", TENANT])
def test_people_of_every_tenant_may_sign_in(service: Service, issuer: FakeIssuer, key_issuer: str | None) -> None:
    of_tenants(service, issuer)
    issuer.of_key = {"issuer": f"{issuer.address}/{key_issuer}/v2.0"} if key_issuer else {}
    issuer.person |= {"email": "grace@example.org", "email_verified": True}  # each tenant writes what it likes
    assert travel(service, issuer).status_code == 200
    assert (me(service)["handle"], me(service)["email"]) == ("grace", None)


@pytest.mark.parametrize(
    ("claims", "of_key"),
    [
        ({"tid": OTHER_TENANT}, {}),
        ({"tid": None}, {}),
        ({"tid": "a/../b"}, {}),
        ({"iss": "https://another.example/v2.0"}, {}),
        ({}, {"issuer": f"https://another.example/{TENANT}/v2.0"}),
    ],
)
def test_a_token_is_of_the_tenant_that_it_names(
    service: Service, issuer: FakeIssuer, claims: dict[str, Any], of_key: dict[str, str]
) -> None:
    of_tenants(service, issuer)
    issuer.claims |= claims
    issuer.of_key = of_key
    assert travel(service, issuer).status_code == 401


def test_an_issuer_with_another_name_is_refused_and_the_log_says_which(
    service: Service, issuer: FakeIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    configure(service, oidc_issuer=f"{issuer.address}/consumers/v2.0")
    issuer.described = {"issuer": f"{issuer.address}/{TENANT}/v2.0"}
    answer = service.http.get("/signin/oidc", headers=HTML, follow_redirects=False)
    assert answer.status_code == 503
    assert "Signing in with Example ID is not possible now" in parse_html(answer.text).one(class_="lead").text
    assert f"{issuer.address}/{TENANT}/v2.0: set KENNEL_OIDC_ISSUER to that" in refusal(caplog)


@pytest.mark.parametrize("ahead", [-90, 90])
def test_clocks_may_be_minutes_apart(service: Service, issuer: FakeIssuer, ahead: int) -> None:
    now = int(time.time()) + ahead
    issuer.claims = {"iat": now, "nbf": now, "exp": now + 60}
    assert travel(service, issuer).status_code == 200


@pytest.mark.parametrize("ahead", [-900, 900])
def test_a_clock_that_is_wrong_is_named_in_the_log(
    service: Service, issuer: FakeIssuer, ahead: int, caplog: pytest.LogCaptureFixture
) -> None:
    now = int(time.time()) + ahead
    issuer.claims = {"iat": now, "exp": now + 60}
    answer = travel(service, issuer)
    assert answer.status_code == 401
    assert "the answer of Example ID is not valid" in parse_html(answer.text).one(class_="lead").text
    assert re.search(rf"'iat': {now}, .*the time here is \d+", refusal(caplog))


@pytest.mark.parametrize("header", [{"alg": "RS256", "kid": "1"}, {"alg": "RS256"}])
def test_a_new_key_under_the_old_name_or_without_one_is_read_at_once(
    service: Service, issuer: FakeIssuer, header: dict[str, str]
) -> None:
    issuer.header = header
    assert travel(service, issuer).status_code == 200
    service.http.cookies.clear()
    old = issuer.published
    issuer.published = RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})
    issuer.further_keys = [] if "kid" in header else [old.as_dict(private=False) | {"kid": "0"}]
    assert travel(service, issuer).status_code == 200


def test_an_issuer_that_goes_away_during_a_sign_in_is_reported(
    service: Service, issuer: FakeIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    back = issuer.visit(depart(service))
    service.app.state.issuer_metadata = IssuerMetadata()
    configure(service, oidc_issuer="http://127.0.0.1:1")
    answer = arrive(service, back)
    assert answer.status_code == 503
    assert "Try again in a few minutes" in parse_html(answer.text).one(class_="lead").text
    assert "http://127.0.0.1:1 cannot be used" in refusal(caplog)


@pytest.mark.parametrize(
    ("claims", "reason"),
    [({"nonce": "another"}, "nonce"), ({"aud": "another"}, "'aud': 'another'"), ({"sub": None}, "sub")],
)
def test_the_log_says_why_a_token_was_refused(
    service: Service, issuer: FakeIssuer, claims: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.claims = claims
    assert travel(service, issuer).status_code == 401
    assert reason in refusal(caplog)
    assert issuer.address in refusal(caplog)


def test_the_log_says_what_the_issuer_answered(
    service: Service, issuer: FakeIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    back = issuer.visit(depart(service))
    issuer.codes.clear()
    assert arrive(service, back).status_code == 401
    assert "invalid_grant" in refusal(caplog)
