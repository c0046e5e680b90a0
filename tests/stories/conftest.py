"""The whole service as real processes (web, queue server, database, workers, beat), and its participants."""

import io
import itertools
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx
import pytest

from deploy.demo.accounts import new_token
from deploy.standalone import service
from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.ports import free_port
from deploy.standalone.supervisor import Supervisor
from kennel_client import Client
from scorer.settings import Settings
from tests.factories import make_spec, make_zip, noise_images
from tests.stories.collector import Collector, collector

ADDRESS = "127.0.0.2"
"""Not the default address of ``kennel up``."""
MISSPELT = "KENNEL_SMTP_URI"
"""A setting that does not exist."""
PATIENCE = 90
PASSWORD = "a phrase nobody else has"
_count = itertools.count(1)


@dataclass(frozen=True)
class Browser:
    """A browser that is signed in with a password. It may do things that no token may do."""

    handle: str
    http: httpx.Client

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Make a request to the API. Returns the JSON of the answer."""
        answer = self.http.request(method, f"/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None


@dataclass(frozen=True)
class RunningService:
    """A running service, and its admin, who also organizes the competitions."""

    url: str
    admin: Client
    log: Path
    settings: Settings
    collector: Collector
    """Receives the traces of its processes."""
    supervisor: Supervisor
    connections: ExitStack
    """The clients' connections, which are closed with the service."""

    def person(self, name: str) -> Client:
        """A participant with a new account."""
        handle = f"{name}-{next(_count)}"
        return self.client(new_token(self.settings, handle, "participant", name=handle))

    def client(self, token: str) -> Client:
        """A client with this token."""
        return self.connections.enter_context(Client(self.url, token))

    def browser(self, name: str) -> Browser:
        """A browser with a new account that has just signed up and signed in."""
        handle = f"{name}-{next(_count)}"
        http = httpx.Client(base_url=self.url, headers={"Accept": "text/html"}, follow_redirects=True)
        self.connections.enter_context(http)
        form = {"handle": handle, "email": f"{handle}@example.org", "password": PASSWORD}
        assert f'data-account="{handle}"' in http.post("/signup", data=form).text
        answer = http.post("/api/v1/session", json={"login": handle, "password": PASSWORD})
        http.headers["X-CSRF-Token"] = answer.json()["csrf_token"]
        return Browser(handle, http)

    def competition(self, **changes: Any) -> str:
        """The slug of a new open competition with prepared references."""
        spec = make_spec(datetime.now(UTC), **changes).model_dump(mode="json")
        slug = spec["slug"] = f"story-{next(_count)}"
        self.admin.api.post("/competitions", spec)
        size = spec["image_size"]
        for role, seed in (("train", 1), ("held_out", 2), ("private_extra", 3)):
            self.admin.api.attach_references(slug, role, io.BytesIO(make_zip(noise_images(seed, 40, size))))
        self.admin.admin.references.prepare(slug, say=lambda _: None)
        return str(slug)

    def scored(self, person: Client, slug: str, images: Any) -> str:
        """The ID of a new entry with these images, scored on both tracks."""
        entry = submit(person, slug, make_zip(images))
        return str(self.wait(entry["id"])["id"])

    def wait(self, entry: str) -> Any:
        """Wait until both tracks are scored. Returns the entry as organizers see it."""

        until(lambda: self.is_scored(entry), "both scores")
        return self.seen_by_admin(entry)

    def is_scored(self, entry: str) -> bool:
        """Whether both tracks of an entry are scored."""
        view = self.seen_by_admin(entry)
        return (view["status"], view["private_state"]) == ("scored", "done")

    def seen_by_admin(self, entry: str) -> Any:
        """An entry as organizers see it now."""
        return self.admin.api.get(f"/submissions/{entry}")

    def close(self, slug: str) -> None:
        """Set the close of a competition to two hours ago."""
        closed = (datetime.now(UTC) - timedelta(hours=2)).isoformat()
        self.admin.admin.competitions.change(slug, {"closes_at": closed})


def submit(person: Client, slug: str, content: bytes) -> Any:
    """Upload a zip. Returns the new entry."""
    return person.api.submit(slug, io.BytesIO(content), file_name="entry.zip")


def until(condition: Callable[[], Any], what: str, *, patience: float = PATIENCE) -> Any:
    """Wait until ``condition`` returns a true value, for at most ``patience`` seconds."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.2)
    raise AssertionError(f"waited {patience} s for {what}")


@pytest.fixture(scope="session")
def live() -> Iterator[RunningService]:
    """A service for all tests, started in a folder with modules that have the names of its packages."""
    folder = Path(mkdtemp(prefix="kennel-stories-"))
    foreign = Path(mkdtemp(prefix="kennel-foreign-"))
    for name in ("api", "deploy", "migrations", "scorer", "worker"):
        (foreign / f"{name}.py").write_text("raise ImportError('a foreign package of the same name')")
    log_file = folder.with_suffix(".log")
    try:
        with (
            log_file.open("w") as log,
            open_data_folder(folder) as data,
            collector() as traces,
            Supervisor(Log(log), hold=[data.lock]) as supervisor,
        ):
            port = free_port(ADDRESS)
            variables = {
                "KENNEL_PUBLIC_URL": f"http://{ADDRESS}:{port}",
                "KENNEL_LOG_FORMAT": "json",
                "KENNEL_TRACES_ENDPOINT": traces.endpoint,
                "OTEL_BSP_SCHEDULE_DELAY": "200",
                "KENNEL_WEBHOOKS_LOCAL": "true",
                MISSPELT: "x",
            }
            with chdir(foreign):
                running = service.start_service(
                    supervisor, data, host=ADDRESS, port=port, environ={**os.environ, **variables}, durable=False
                )
            with ExitStack() as connections:
                token = new_token(running.settings, service.ADMIN, "admin")
                admin = connections.enter_context(Client(running.url, token))
                yield RunningService(running.url, admin, log_file, running.settings, traces, supervisor, connections)
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(foreign)
        log_file.unlink()
