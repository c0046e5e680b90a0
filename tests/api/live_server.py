"""The application behind a real server, for answers that don't end."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from time import monotonic, sleep
from typing import Any

import httpx
import uvicorn

from api.main import create_app
from scorer.settings import Settings


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """The address of a server of its own."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        app = create_app(settings)
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", ws="none", timeout_graceful_shutdown=5))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            deadline = monotonic() + 20
            while not server.started:
                assert thread.is_alive()
                assert monotonic() < deadline
                sleep(0.02)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            app.state.hub.close()
            server.should_exit = True
            thread.join(20)


def events_of(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Server-sent events as they come: their data, with their id. Comments and other fields are skipped."""
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
def listening(url: str, token: str, submission_id: str, last: str = "") -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a submission from after the event ``last`` on."""
    headers = {"Authorization": f"Bearer {token}", **({"Last-Event-ID": last} if last else {})}
    path = f"{url}/api/v1/submissions/{submission_id}/events"
    with httpx.Client(timeout=20, trust_env=False) as client, client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        yield events_of(answer.iter_lines())
