"""Server-sent events of submissions, as a client receives them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx


def read_events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield the data of server-sent events with their id. Skip comments and other fields."""
    event: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(": ")
        if not line and "data" in event:
            yield {**json.loads(event["data"]), "id": event["id"]}
        if not line:
            event = {}
        elif name:
            event[name] = value


@contextmanager
def listen_to_events(url: str, token: str, submission_id: str, last: str = "") -> Iterator[Iterator[dict[str, Any]]]:
    """Yield the events of a submission after the event ``last``."""
    headers = {"Authorization": f"Bearer {token}", **({"Last-Event-ID": last} if last else {})}
    path = f"{url}/api/v1/submissions/{submission_id}/events"
    with httpx.Client(timeout=20, trust_env=False) as client, client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        yield read_events(answer.iter_lines())
