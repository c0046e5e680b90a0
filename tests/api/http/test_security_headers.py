"""Security headers of every response."""

import pytest
from fastapi.testclient import TestClient

from api.main import create_app
from tests.api.conftest import API, Service

EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"{API}/me", 401), (f"{API}/competitions", 200), (f"{API}/openapi.json", 200), (f"{API}/no-such", 404),
        ("/", 200), ("/no-such", 404), ("/static/base.css", 200), (f"{API}/me?x=%00", 422),
    ],
)  # fmt: skip
def test_every_response_has_security_headers(service: Service, path: str, status: int) -> None:
    answer = service.http.get(path)
    assert answer.status_code == status
    assert {name: answer.headers.get_list(name) for name in EVERYWHERE} == {
        name: [value] for name, value in EVERYWHERE.items()
    }
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "strict-transport-security" not in answer.headers, "this service has an http address"


def test_personal_responses_are_not_cached(service: Service) -> None:
    assert service.call("ada", "GET", "/me").headers["cache-control"] == "no-store"
    slug = service.competition()
    board = service.call(None, "GET", f"/competitions/{slug}/leaderboard").headers
    assert (board["cache-control"] == "no-store", "etag" in board) == (False, True), (
        "boards set their own cache headers"
    )


def test_an_https_service_requires_https(service: Service) -> None:
    settings = service.context.settings.model_copy(update={"public_url": "https://kennel.example.org"})
    with TestClient(create_app(settings), raise_server_exceptions=False) as http:
        for path in ("/", f"{API}/me", "/no-such"):
            assert http.get(path).headers["strict-transport-security"] == "max-age=31536000"
