"""Notices and webhooks after an entry is scored."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.factories import noise_images
from tests.stories.conftest import RunningService, until


def test_a_scored_entry_reaches_its_owner_by_notice_and_webhook(live: RunningService) -> None:
    slug, ada = live.competition(), live.browser("ada")
    with receiver() as (url, received):
        ada.call("POST", "/webhooks", {"url": url})
        client = live.client(ada.call("POST", "/tokens", {"name": "laptop"})["token"])
        entry = live.scored(client, slug, noise_images(10))
        until(lambda: any(entry in json.dumps(body) for body in received), "the webhook")
    assert any(entry in json.dumps(notice) for notice in ada.call("GET", "/notices")["notices"])


@contextmanager
def receiver() -> Iterator[tuple[str, list[object]]]:
    """Run a server. Yields its URL and the JSON bodies that it receives."""
    received: list[object] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", received
        server.shutdown()
