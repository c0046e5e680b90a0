"""An account has a bounded number of requests in progress, beside its event streams."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient

from api import error_handlers
from api.http import concurrent_requests
from api.http.concurrent_requests import ConcurrentRequests, count_request
from tests.api.conftest import Service
from tests.api.submissions.streams import listen_to_events
from tests.factories import noise_images, zip_of
from tests.http_server import serve


def test_one_too_many_is_refused_until_another_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrent_requests, "MAX_REQUESTS_OF_AN_ACCOUNT", 1)
    app = FastAPI()
    error_handlers.add_error_handlers(app)
    begun, ended = threading.Event(), threading.Event()

    @app.get("/{account}")
    async def answer(account: int, request: Request) -> int:
        count_request(request, account)
        return account

    @app.get("/{account}/slow")
    def answer_slowly(account: int, request: Request) -> bool:
        count_request(request, account)
        begun.set()
        return ended.wait(60)

    http = TestClient(ConcurrentRequests(app))
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(http.get, "/1/slow")
        assert begun.wait(60)
        refused, another = http.get("/1"), http.get("/2")
        ended.set()
        assert slow.result(60).json() is True
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:kennel:problem:too-many-requests")
    assert refused.headers["Retry-After"] == "1"
    assert another.status_code == 200, "another account has its own"
    assert http.get("/1").status_code == 200


def test_requests_of_accounts_are_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    monkeypatch.setattr(concurrent_requests, "MAX_REQUESTS_OF_AN_ACCOUNT", 0)
    assert service.call("ada", "GET", f"/competitions/{slug}").status_code == 429
    assert service.call("ada", "GET", "/kaggle/bundles/x.zip").status_code == 400, "as its client reads refusals"
    assert "in progress" in service.call("ada", "GET", f"/kaggle/bundles/{slug}.zip").text
    assert service.call(None, "GET", f"/competitions/{slug}").status_code == 200


def test_whoever_follows_entries_asks_as_before(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = service.submit("ada", service.competition(), zip_of(noise_images(10))).json()
    monkeypatch.setattr(concurrent_requests, "MAX_REQUESTS_OF_AN_ACCOUNT", 1)
    with serve(service.app) as url, listen_to_events(url, service.tokens["ada"], entry["id"]) as events:
        next(events)
        assert service.call("ada", "GET", "/me").status_code == 200
