"""What an OpenID Connect issuer publishes is read once for many logins, by TLS, in bounded time and size."""

import asyncio
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
from tests.web.accounts.oidc_issuer import DISCOVERY, KEYS, FakeIssuer, arrive, depart, travel
from tests.web.pages import HTML

THREADS = 40
"""In which requests of a web process wait."""


class Clock:
    """A clock that stands still until it is moved."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(service: Service) -> Iterator[Clock]:
    """The clock by which the service keeps what issuers publish."""
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


def test_documents_are_read_anew_after_some_minutes(service: Service, issuer: FakeIssuer, clock: Clock) -> None:
    for moment, expected in ((0.0, 1), (KEPT_SECONDS - 1, 1), (KEPT_SECONDS, 2)):
        clock.now = moment
        assert travel(service, issuer).status_code == 200
        service.http.cookies.clear()
        assert reads(issuer) == (expected, expected), moment


def test_a_key_that_is_new_at_the_issuer_is_read_at_once(service: Service, issuer: FakeIssuer) -> None:
    assert travel(service, issuer).status_code == 200
    service.http.cookies.clear()
    issuer.rotate("2")
    assert travel(service, issuer).status_code == 200
    assert reads(issuer) == (1, 2)


def test_a_key_that_the_issuer_does_not_publish_is_looked_for_once(service: Service, issuer: FakeIssuer) -> None:
    issuer.header = {**issuer.header, "kid": "2"}
    assert travel(service, issuer).status_code == 401
    assert reads(issuer) == (1, 2)


class CountingClient:
    """A client whose requests take a moment, all answered by the same keys."""

    def __init__(self) -> None:
        self.requests = 0
        self._key = RSAKey.generate_key(2048, {"kid": "1"}).as_dict(private=False)

    async def request(self, method: str, address: str, **_: Any) -> httpx.Response:
        """The keys."""
        self.requests += 1
        await asyncio.sleep(0.01)
        return httpx.Response(200, json={"keys": [self._key]}, request=httpx.Request(method, address))


def test_one_login_reads_what_others_wait_for() -> None:
    metadata, client = IssuerMetadata(), CountingClient()

    async def read_at_once(**other_than: Any) -> list[KeySet]:
        waiting: Any = (metadata.keys(client, "https://issuer.example/keys", **other_than) for _ in range(20))
        return list(await asyncio.gather(*waiting))

    async def read_twice() -> None:
        first = await read_at_once()
        assert (client.requests, {id(keys) for keys in first}) == (1, {id(first[0])})
        second = await read_at_once(other_than=first[0])
        assert (client.requests, {id(keys) for keys in second}) == (2, {id(second[0])})

    asyncio.run(read_twice())


def test_an_issuer_that_answers_byte_by_byte_ends_the_login_in_time(
    service: Service, issuer: FakeIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    back = issuer.visit(depart(service))
    monkeypatch.setattr(login, "ANSWER_SECONDS", 0.3)
    issuer.seconds_between_bytes = 0.05  # the keys take a minute
    begun = time.monotonic()
    assert arrive(service, back).status_code == 503
    service.app.state.issuer_metadata = IssuerMetadata()
    assert service.http.get("/signin/oidc", headers=HTML, follow_redirects=False).status_code == 503
    assert time.monotonic() - begun < 10


@pytest.mark.parametrize("path", [DISCOVERY, KEYS])
def test_an_answer_is_bounded(service: Service, issuer: FakeIssuer, path: str) -> None:
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


def test_logins_that_wait_for_the_issuer_keep_no_other_request_waiting(service: Service, issuer: FakeIssuer) -> None:
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
def test_what_goes_without_tls_stays_on_the_machine(address: str) -> None:
    assert is_https_or_loopback(address) is (address in SECURE)


def test_an_issuer_needs_tls_unless_it_is_on_this_machine() -> None:
    issuers: TypeAdapter[Any] = TypeAdapter(Settings.model_fields["oidc_issuer"].rebuild_annotation())
    assert issuers.validate_python(f"{SECURE[0]}/") == SECURE[0]
    with pytest.raises(ValidationError, match="needs https://"):
        issuers.validate_python(OPEN[0])
