"""Retries of the client: with jitter, and a limited number."""

import asyncio
from typing import Any

import httpx
import pytest

from kennel_client.api import ApiClient, require_success
from kennel_client.async_api import AsyncApiClient
from kennel_client.errors import Refused, Unreachable
from kennel_client.steps import MAX_REQUEST_RETRIES, MAX_TRIES, RETRY_SECONDS, Retries, get, is_repeatable

GONE = Unreachable("Gone.")


def test_pauses_grow_to_a_maximum_and_start_over_after_progress() -> None:
    retries = Retries(lambda: 1.0)
    assert [retries.seconds_after(GONE) for _ in range(9)] == [*RETRY_SECONDS, 30, 30]
    retries.reset()
    assert retries.seconds_after(GONE) == RETRY_SECONDS[0]


def test_two_clients_do_not_retry_at_the_same_time() -> None:
    first, second = Retries(), Retries()
    assert [first.seconds_after(GONE) for _ in range(9)] != [second.seconds_after(GONE) for _ in range(9)]
    early = Retries(lambda: 0.0)
    assert [early.seconds_after(GONE) for _ in RETRY_SECONDS] == [longest / 2 for longest in RETRY_SECONDS]


def test_a_client_waits_for_the_requested_time() -> None:
    busy = Refused(429, {"type": "urn:kennel:problem:too-often"}, retry_after=17)
    assert Retries().seconds_after(busy) == 17


@pytest.mark.parametrize("status", [408, 429, 502, 504])
def test_temporary_errors_of_a_proxy_are_retried(status: int) -> None:
    assert Retries().seconds_after(Refused(status, {})) > 0


def test_an_error_of_a_proxy_with_a_size_limit_names_the_proxy() -> None:
    with pytest.raises(Refused, match=r"^A proxy .* \(413\)"):
        require_success(httpx.Response(413, html="<h1>413 Request Entity Too Large</h1>"))


@pytest.mark.parametrize(
    "refusal",
    [Refused(409, {"type": "urn:kennel:problem:closed"}), Refused(404, {}), Refused(429, {"type": "x:daily"})],
)
def test_a_permanent_refusal_is_raised(refusal: Refused) -> None:
    with pytest.raises(Refused) as caught:
        Retries().seconds_after(refusal)
    assert caught.value is refusal


def test_retries_end_if_the_service_stays_unavailable() -> None:
    retries = Retries()
    for _ in range(MAX_TRIES):
        retries.seconds_after(Refused(503, {}))
    with pytest.raises(Refused):
        retries.seconds_after(Refused(503, {}))


def refused(status: int, slug: str = "", retry_after: int | None = None) -> Refused:
    """The service's response with a problem; without a slug, the response of a proxy."""
    return Refused(status, {"type": f"urn:kennel:problem:{slug}"} if slug else {}, retry_after=retry_after)


@pytest.mark.parametrize(
    ("refusal", "repeated"),
    [
        (GONE, {"GET", "PUT"}),
        (Unreachable("No address.", lasting=True), set()),
        (refused(502), {"GET", "PUT"}),
        (refused(500, "our-fault"), set()),
        (refused(503, "no-clamd", 5), {"GET", "PUT", "POST", "DELETE", "PATCH"}),
        (refused(503, "database-unavailable", 5), {"GET", "PUT"}),
        (refused(429, "too-often", 5), {"GET", "PUT", "POST", "DELETE", "PATCH"}),
        (refused(429, "too-often", 3600), set()),
        (refused(429, "daily-limit", 5), set()),
        (refused(429, retry_after=5), {"GET", "PUT", "POST", "DELETE", "PATCH"}),
        (refused(409, "conflict"), set()),
    ],
)
def test_a_single_request_is_repeated_if_that_is_safe(refusal: Refused, repeated: set[str]) -> None:
    methods = ("GET", "PUT", "POST", "DELETE", "PATCH")
    assert {method for method in methods if is_repeatable(method, refusal)} == repeated


def test_a_key_makes_a_post_safe_and_a_file_makes_a_put_unsafe() -> None:
    assert is_repeatable("POST", GONE, keyed=True)
    assert not is_repeatable("PUT", GONE, streamed=True)


class Flaky:
    """Fails the first ``failures`` requests, then answers ``{"done": true}``. Records the methods."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.methods: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.methods.append(request.method)
        if len(self.methods) <= self.failures:
            raise httpx.ReadError("gone")
        return httpx.Response(200, json={"done": True})


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of a client, which does not wait."""
    taken: list[float] = []

    async def sleep(seconds: float) -> None:
        taken.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return taken


def get_with_both_clients(flaky: Flaky, pauses: list[float]) -> list[Any]:
    """The results of a GET with the synchronous and the asynchronous client."""
    transport = httpx.MockTransport(flaky)
    with ApiClient("http://kennel.example.org") as client:
        client._http = httpx.Client(base_url=client._http.base_url, transport=transport)
        first = client.run(get("/competitions"), sleep=pauses.append)

    async def second() -> Any:
        async with AsyncApiClient("http://kennel.example.org") as other:
            other._http = httpx.AsyncClient(base_url="http://kennel.example.org/api/v1", transport=transport)
            return await other.run(get("/competitions"))

    return [first, asyncio.run(second())]


def test_both_clients_retry_after_pauses(pauses: list[float]) -> None:
    flaky = Flaky(failures=2)
    assert get_with_both_clients(flaky, pauses) == [{"done": True}] * 2
    assert flaky.methods == ["GET"] * 4
    assert len(pauses) == 2
    assert all(longest / 2 <= pause <= longest for pause, longest in zip(pauses, RETRY_SECONDS, strict=False))


def test_a_single_request_fails_after_a_few_retries(pauses: list[float]) -> None:
    flaky = Flaky(failures=99)
    with pytest.raises(Unreachable):
        get_with_both_clients(flaky, pauses)
    assert len(flaky.methods) == MAX_REQUEST_RETRIES + 1
    assert len(pauses) == MAX_REQUEST_RETRIES
