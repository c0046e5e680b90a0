"""Issuers with other names, claims, clocks and keys. Their documents are read once, over TLS, in limited time."""

import asyncio
import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from joserfc.jwk import KeySet, RSAKey
from pydantic import TypeAdapter, ValidationError

from api.accounts.oidc import login
from api.accounts.oidc.issuer_metadata import KEPT_SECONDS, MAX_ANSWER_BYTES, IssuerMetadata
from scorer.settings import Settings, is_https_or_loopback
from tests.api.conftest import Service
from tests.web.accounts.oidc_issuer import DISCOVERY, KEYS, FakeIssuer, arrive, configure, depart, me, travel
from tests.web.html import parse_html
from tests.web.pages import HTML

TENANT, OTHER_TENANT = "9188040d-6c67-4c5b-b112-36a304b66dad", "72f988bf-86f1-41af-91ab-2d7cd011db47"


def refusal(caplog: pytest.LogCaptureFixture) -> str:
    """The only reason in the log."""
    (record,) = [record for record in caplog.records if record.name == "api.accounts.oidc.login"]
    return record.getMessage()


@pytest.mark.parametrize("end", ["", "/"])
def test_an_issuer_may_end_with_a_slash(service: Service, issuer: FakeIssuer, end: str) -> None:
    issuer.described, issuer.claims = {"issuer": issuer.address + end}, {"iss": issuer.address + end}
    assert travel(service, issuer).status_code == 200
    assert me(service)["handle"] == "grace"


def make_multi_tenant(service: Service, issuer: FakeIssuer, tenant: str = "common") -> None:
    """Make it an issuer of many tenants, like Microsoft Entra."""
    configure(service, oidc_issuer=f"{issuer.address}/{tenant}/v2.0")
    issuer.described = {"issuer": f"{issuer.address}/{{tenantid}}/v2.0"}
    issuer.claims = {"iss": f"{issuer.address}/{TENANT}/v2.0", "tid": TENANT}


@pytest.mark.parametrize("key_issuer", [None, "{tenantid}", TENANT])
def test_people_of_every_tenant_may_sign_in(service: Service, issuer: FakeIssuer, key_issuer: str | None) -> None:
    make_multi_tenant(service, issuer)
    issuer.of_key = {"issuer": f"{issuer.address}/{key_issuer}/v2.0"} if key_issuer else {}
    issuer.person |= {"email": "grace@example.org", "email_verified": True}  # a tenant can write any address
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
def test_a_token_must_come_from_its_own_tenant(
    service: Service, issuer: FakeIssuer, claims: dict[str, Any], of_key: dict[str, str]
) -> None:
    make_multi_tenant(service, issuer)
    issuer.claims |= claims
    issuer.of_key = of_key
    assert travel(service, issuer).status_code == 401


def test_an_issuer_with_another_name_is_refused_and_logged(
    service: Service, issuer: FakeIssuer, caplog: pytest.LogCaptureFixture
) -> None:
    configure(service, oidc_issuer=f"{issuer.address}/consumers/v2.0")
    issuer.described = {"issuer": f"{issuer.address}/{TENANT}/v2.0"}
    answer = service.http.get("/signin/oidc", headers=HTML, follow_redirects=False)
    assert answer.status_code == 503
    assert "You can't sign in with Example ID at the moment" in parse_html(answer.text).one(class_="lead").text
    assert f"{issuer.address}/{TENANT}/v2.0: set KENNEL_OIDC_ISSUER to that" in refusal(caplog)


@pytest.mark.parametrize("ahead", [-90, 90])
def test_clocks_may_be_minutes_apart(service: Service, issuer: FakeIssuer, ahead: int) -> None:
    now = int(time.time()) + ahead
    issuer.claims = {"iat": now, "nbf": now, "exp": now + 60}
    assert travel(service, issuer).status_code == 200


@pytest.mark.parametrize("ahead", [-900, 900])
def test_a_wrong_clock_is_logged(
    service: Service, issuer: FakeIssuer, ahead: int, caplog: pytest.LogCaptureFixture
) -> None:
    now = int(time.time()) + ahead
    issuer.claims = {"iat": now, "exp": now + 60}
    answer = travel(service, issuer)
    assert answer.status_code == 401
    assert "Example ID sent an invalid response" in parse_html(answer.text).one(class_="lead").text
    assert re.search(rf"'iat': {now}, .*current time: \d+", refusal(caplog))


@pytest.mark.parametrize("header", [{"alg": "RS256", "kid": "1"}, {"alg": "RS256"}])
def test_a_new_key_with_the_old_id_or_without_one_is_read_immediately(
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
def test_the_log_has_the_reason_for_a_refused_token(
    service: Service, issuer: FakeIssuer, claims: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.claims = claims
    assert travel(service, issuer).status_code == 401
    assert reason in refusal(caplog)
    assert issuer.address in refusal(caplog)


def test_the_log_has_the_issuers_answer(service: Service, issuer: FakeIssuer, caplog: pytest.LogCaptureFixture) -> None:
    back = issuer.visit(depart(service))
    issuer.codes.clear()
    assert arrive(service, back).status_code == 401
    assert "invalid_grant" in refusal(caplog)


THREADS = 40
"""The number of request threads of a web process."""


class Clock:
    """A clock that only changes when a test sets ``now``."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(service: Service) -> Iterator[Clock]:
    """The clock for the service's cache of issuer documents."""
    clock = Clock()
    service.app.state.issuer_metadata = IssuerMetadata(clock)
    yield clock
    service.app.state.issuer_metadata = IssuerMetadata()


def reads(issuer: FakeIssuer) -> tuple[int, int]:
    """How often the discovery document and the keys were read."""
    return issuer.asked[DISCOVERY], issuer.asked[KEYS]


def test_many_logins_read_the_documents_once(service: Service, issuer: FakeIssuer) -> None:
    for _ in range(3):
        assert travel(service, issuer).status_code == 200
        service.http.cookies.clear()
    assert reads(issuer) == (1, 1)


def test_documents_are_read_again_after_some_minutes(service: Service, issuer: FakeIssuer, clock: Clock) -> None:
    for moment, expected in ((0.0, 1), (KEPT_SECONDS - 1, 1), (KEPT_SECONDS, 2)):
        clock.now = moment
        assert travel(service, issuer).status_code == 200
        service.http.cookies.clear()
        assert reads(issuer) == (expected, expected), moment


def test_a_new_key_of_the_issuer_is_read_immediately(service: Service, issuer: FakeIssuer) -> None:
    assert travel(service, issuer).status_code == 200
    service.http.cookies.clear()
    issuer.rotate("2")
    assert travel(service, issuer).status_code == 200
    assert reads(issuer) == (1, 2)


def test_an_unpublished_key_is_requested_once(service: Service, issuer: FakeIssuer) -> None:
    issuer.header = {**issuer.header, "kid": "2"}
    assert travel(service, issuer).status_code == 401
    assert reads(issuer) == (1, 2)


class CountingClient:
    """A client that answers every request with the same keys after a moment."""

    def __init__(self) -> None:
        self.requests = 0
        self._key = RSAKey.generate_key(2048, {"kid": "1"}).as_dict(private=False)

    async def request(self, method: str, address: str, **_: Any) -> httpx.Response:
        self.requests += 1
        await asyncio.sleep(0.01)
        return httpx.Response(200, json={"keys": [self._key]}, request=httpx.Request(method, address))


def test_concurrent_logins_share_one_read() -> None:
    metadata, client = IssuerMetadata(), CountingClient()

    async def read_concurrently(**other_than: Any) -> list[KeySet]:
        waiting: Any = (metadata.keys(client, "https://issuer.example/keys", **other_than) for _ in range(20))
        return list(await asyncio.gather(*waiting))

    async def read_twice() -> None:
        first = await read_concurrently()
        assert (client.requests, {id(keys) for keys in first}) == (1, {id(first[0])})
        second = await read_concurrently(other_than=first[0])
        assert (client.requests, {id(keys) for keys in second}) == (2, {id(second[0])})

    asyncio.run(read_twice())


def test_a_slow_issuer_ends_the_login_in_time(
    service: Service, issuer: FakeIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = issuer.visit(depart(service))
    monkeypatch.setattr(login, "ANSWER_SECONDS", 0.3)
    issuer.seconds_between_bytes = 0.05  # the keys would take a minute
    begun = time.monotonic()
    assert arrive(service, back).status_code == 503
    service.app.state.issuer_metadata = IssuerMetadata()
    assert service.http.get("/signin/oidc", headers=HTML, follow_redirects=False).status_code == 503
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("path", [DISCOVERY, KEYS])
def test_answers_of_issuers_have_a_maximum_size(service: Service, issuer: FakeIssuer, path: str) -> None:
    back = issuer.visit(depart(service))
    if path == DISCOVERY:
        service.app.state.issuer_metadata = IssuerMetadata()
    padding = "x" * MAX_ANSWER_BYTES
    issuer.described, issuer.further_keys = ({"x": padding}, []) if path == DISCOVERY else ({}, [{"kty": padding}])
    assert arrive(service, back).status_code == 503
    assert service.http.get("/account", headers=HTML).url.path == "/signin"


def test_a_compressed_answer_is_refused(service: Service, issuer: FakeIssuer) -> None:
    issuer.headers = {"Content-Encoding": "gzip"}
    assert service.http.get("/signin/oidc", headers=HTML, follow_redirects=False).status_code == 503


def test_logins_that_wait_for_the_issuer_block_no_other_request(service: Service, issuer: FakeIssuer) -> None:
    issuer.answers.clear()

    async def ask() -> list[int]:
        transport = httpx.ASGITransport(service.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://testserver") as http:
            logins = [asyncio.create_task(http.get("/signin/oidc")) for _ in range(THREADS + 1)]
            async with asyncio.timeout(20):
                while not issuer.asked[DISCOVERY]:
                    await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)  # all of them wait
            async with asyncio.timeout(5):
                assert (await http.get("/signin")).status_code == 200
            assert not any(login.done() for login in logins)
            issuer.answers.set()
            return [answer.status_code for answer in await asyncio.gather(*logins)]

    try:
        assert asyncio.run(ask()) == [303] * (THREADS + 1)
    finally:
        issuer.answers.set()
    assert reads(issuer) == (1, 0)


@pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
def test_an_endpoint_without_tls_is_refused(service: Service, issuer: FakeIssuer, endpoint: str) -> None:
    issuer.described = {endpoint: "http://issuer.example/x"}
    assert service.http.get("/signin/oidc", headers=HTML, follow_redirects=False).status_code == 503


SECURE = ("https://id.example", "http://localhost:8080", "http://127.0.0.1", "http://[::1]:8080/realm")
OPEN = ("http://id.example", "http://localhost.example", "http://127.0.0.1.example", "http://10.0.0.1", "ftp://id", "")


@pytest.mark.parametrize("address", [*SECURE, *OPEN])
def test_only_loopback_addresses_may_go_without_tls(address: str) -> None:
    assert is_https_or_loopback(address) is (address in SECURE)


def test_an_issuer_needs_tls_unless_it_is_on_this_machine() -> None:
    issuers: TypeAdapter[Any] = TypeAdapter(Settings.model_fields["oidc_issuer"].rebuild_annotation())
    assert issuers.validate_python(f"{SECURE[0]}/") == SECURE[0]
    with pytest.raises(ValidationError, match="must begin with https://"):
        issuers.validate_python(OPEN[0])
