"""The lines of a request and those of the work that follows from it are joined by ids."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from scorer.lifecycle import Queue
from scorer.monitoring import logs
from tests.api.conftest import Service
from tests.factories import noise_images, zip_of
from worker.dispatch import run_next


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    """What is logged, as a process without a terminal writes it."""
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


def lines_of(out: io.StringIO) -> list[dict[str, Any]]:
    """What has been logged since the last call."""
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    out.seek(0)
    out.truncate()
    return lines


def test_an_entry_is_followed_from_its_request_to_its_score(service: Service, out: io.StringIO) -> None:
    slug = service.competition()
    lines_of(out)
    answer = service.submit("ada", slug, zip_of(noise_images(9)))
    (request,) = [line for line in lines_of(out) if line["event"] == "request"]
    assert (request["method"], request["status"]) == ("POST", 202)
    assert request["request_id"] == answer.headers["X-Request-ID"]
    assert request["submission_id"] == answer.json()["id"]
    assert run_next(service.context, Queue.CHECK)
    worker = [line for line in lines_of(out) if line["logger"].startswith("worker")]
    assert worker
    joining = ("job_id", "submission_id")
    assert {tuple(line[name] for name in joining) for line in worker} == {tuple(request[name] for name in joining)}
    assert {line["queue"] for line in worker} == {"check"}
    assert "request_id" not in worker[0]
    run_next(service.context, Queue.SCORE)
    scoring = [line for line in lines_of(out) if line["logger"].startswith("worker")]
    assert {line["submission_id"] for line in scoring} == {request["submission_id"]}
