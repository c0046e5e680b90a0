"""Each request has one line, one id and one count, even if it fails. Ids connect it to the jobs that follow."""

import io
import json
import logging
import sqlite3
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.exc import DatabaseError, DataError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from api.http import access_log
from api.http.access_log import choose_request_id
from api.http.problem_details import RETRY_SECONDS
from api.main import create_app
from scorer.db.session import ConnectionLost
from scorer.lifecycle import Queue
from scorer.monitoring import logs
from scorer.monitoring.instruments import HTTP_REQUEST_SECONDS, HTTP_REQUESTS
from scorer.monitoring.logs import annotate_request, request_id
from scorer.settings import Settings
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from worker.dispatch import run_next

STATEMENT = "SELECT secret_column"
CAUSE = sqlite3.Error("the database went away")


def lost(kind: type[DatabaseError]) -> DatabaseError:
    """Return a driver's error for a lost connection."""
    return kind(STATEMENT, {"password": "hunter2"}, CAUSE, connection_invalidated=True)


@pytest.fixture
def app() -> FastAPI:
    return create_app(
        Settings(database_url="postgresql://x@127.0.0.1:1/x", redis_url="redis://127.0.0.1:1", blob_url="file:///tmp")
    )


@pytest.fixture
def http(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture(autouse=True)
def from_info_on(caplog: pytest.LogCaptureFixture) -> None:
    """Use the service's log level."""
    caplog.set_level(logging.INFO)


def read_request_line(caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    """Return the only log record, which is the request's. Records of rate limits about the absent Redis do not
    count."""
    ours = [record for record in caplog.records if record.name.startswith(("kennel", "api", "scorer.db"))]
    ours = [record for record in ours if record.name != "api.http.rate_limits"]
    assert [record.getMessage() for record in ours] == ["request"]
    assert ours[0].exc_info is None
    return vars(ours[0])


def test_a_request_is_one_line_with_the_id_of_its_response(http: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    answer = http.get("/healthz?next=/account&invitation=word")
    line = read_request_line(caplog)
    assert (line["method"], line["status"], line["client"]) == ("GET", 200, "testclient")
    assert line["path"] == "/healthz?next=/account&invitation=***"
    assert line["milliseconds"] >= 0
    assert access_log.VALID_ID.fullmatch(answer.headers["X-Request-ID"])
    assert http.get("/healthz").headers["X-Request-ID"] != answer.headers["X-Request-ID"]


def test_the_line_has_the_endpoints_annotations(
    app: FastAPI, http: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str | None] = []

    @app.get("/noted")
    def noted() -> None:  # in its own thread
        seen.append(request_id())
        annotate_request(submission_id="abc")

    answer = http.get("/noted")
    assert read_request_line(caplog)["submission_id"] == "abc"
    assert seen == [answer.headers["X-Request-ID"]]
    annotate_request(submission_id="nowhere")
    assert request_id() is None


def test_a_problem_also_has_the_request_id(http: TestClient) -> None:
    answer = http.get("/api/v1/nowhere")
    assert answer.status_code == 404
    assert answer.json()["request_id"] == answer.headers["X-Request-ID"]


@pytest.mark.parametrize(
    "error",
    [
        OperationalError(STATEMENT, {"password": "hunter2"}, CAUSE),
        InterfaceError(STATEMENT, {"password": "hunter2"}, CAUSE),
        PoolTimeoutError("no free connection"),
        ConnectionLost(),
        lost(DatabaseError),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lost_database_is_503_and_one_line(
    app: FastAPI, http: TestClient, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    @app.get("/read")
    def read() -> None:
        raise error

    answer = http.get("/read")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == str(RETRY_SECONDS)
    assert answer.json()["type"] == "urn:kennel:problem:database-unavailable"
    line = read_request_line(caplog)
    assert (line["status"], line["levelname"]) == (503, "WARNING")
    assert line["error"].startswith(f"the database did not answer: {type(error).__name__}")
    assert "hunter2" not in line["error"]
    assert "\n" not in line["error"]


def test_a_database_that_refuses_connections_is_503_and_one_line(
    http: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    answer = http.get("/api/v1/competitions")
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, str(RETRY_SECONDS))
    assert "OperationalError" in read_request_line(caplog)["error"]


def test_an_internal_error_is_500_and_raised_to_the_server_once(app: FastAPI) -> None:
    """The server logs the traceback; in this test nothing does."""

    @app.get("/read")
    def read() -> None:
        raise DataError(STATEMENT, {}, CAUSE)

    with TestClient(app) as http, pytest.raises(DataError):
        http.get("/read")
    with TestClient(app, raise_server_exceptions=False) as http:
        answer = http.get("/read")
    assert answer.status_code == 500
    assert answer.json()["request_id"] == answer.headers["X-Request-ID"]
    assert [
        word for word in ("secret_column", "the database went away", "DataError", "Traceback") if word in answer.text
    ] == []


def test_a_request_is_counted_by_its_route(http: TestClient) -> None:
    route = "/api/v1/competitions/{slug}/leaderboard"
    counted = HTTP_REQUESTS.labels("GET", route, 503)
    before = counted._value.get()
    for slug in ("dogs", "cats"):
        http.get(f"/api/v1/competitions/{slug}/leaderboard")
    assert counted._value.get() == before + 2
    assert HTTP_REQUEST_SECONDS.labels(route)._sum.get() > 0
    http.get("/random/address")
    assert HTTP_REQUESTS.labels("GET", "none", 404)._value.get() > 0


@pytest.mark.parametrize(
    ("port", "claimed", "accepted"),
    [
        (0, "f00dfeed-1234", True),  # from a trusted proxy, as uvicorn marks it
        (0, "a b", False),
        (0, "x" * 129, False),
        (0, "abc\nlevel=error", False),
        (50_000, "f00dfeed-1234", False),  # from anybody else
    ],
)
def test_only_a_trusted_proxy_can_set_the_request_id(port: int, claimed: str, accepted: bool) -> None:
    scope = {"client": ("192.0.2.1", port), "headers": [(b"x-request-id", claimed.encode())]}
    assert (choose_request_id(scope) == claimed) is accepted
    assert choose_request_id({"client": None, "headers": []})


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """The log in the format of a process without a terminal."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs._formatter(as_json=True, colours=False))
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield stream
    root.setLevel(level)
    root.removeHandler(handler)


def read_new_lines(out: io.StringIO) -> list[dict[str, Any]]:
    """Return the log lines since the last call."""
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    out.seek(0)
    out.truncate()
    return lines


def test_ids_connect_a_request_to_its_jobs(service: Service, out: io.StringIO) -> None:
    slug = service.competition()
    read_new_lines(out)
    answer = service.submit("ada", slug, make_zip(noise_images(9)))
    (request,) = [line for line in read_new_lines(out) if line["event"] == "request"]
    assert (request["method"], request["status"]) == ("POST", 202)
    assert request["request_id"] == answer.headers["X-Request-ID"]
    assert request["submission_id"] == answer.json()["id"]
    assert run_next(service.context, Queue.CHECK)
    worker = [line for line in read_new_lines(out) if line["logger"].startswith("worker")]
    assert worker
    joining = ("job_id", "submission_id")
    assert {tuple(line[name] for name in joining) for line in worker} == {tuple(request[name] for name in joining)}
    assert {line["queue"] for line in worker} == {"check"}
    assert "request_id" not in worker[0]
    run_next(service.context, Queue.SCORE)
    scoring = [line for line in read_new_lines(out) if line["logger"].startswith("worker")]
    assert {line["submission_id"] for line in scoring} == {request["submission_id"]}
