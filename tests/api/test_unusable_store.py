"""A service whose blob store cannot be used: every request that needs it is 503, and the client says so."""

from pathlib import Path
from typing import Any

import pytest

from api.health.routes import readiness_of
from api.http import problem_details
from api.http.problem_details import RETRY_SECONDS
from kennel_client import steps
from kennel_client.cli.exit_codes import ExitCode
from scorer.errors import StoreUnavailable
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service
from tests.api.submissions.tus import begun, send
from tests.api.unusable_store import unusable_folder
from tests.factories import noise_images, zip_of
from tests.privacy.requests import CODE

__all__ = ["terminal"]
SENTENCE = "The store of files cannot be used at the moment. Please try again later."
ZIP = zip_of(noise_images(9))


def require_unavailable(answer: Any) -> None:
    """The answer is 503 with the sentence and when to try again."""
    assert (answer.status_code, answer.headers.get("Retry-After")) == (503, str(RETRY_SECONDS)), answer.text
    assert (answer.json()["type"], answer.json()["title"]) == ("urn:kennel:problem:blob-store", SENTENCE)


def test_what_needs_the_store_is_503_and_goes_on_afterwards(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(8))
    sprite = entry["sprite"].removeprefix("/api/v1")
    code = f"/submissions/{entry['id']}/code"
    assert service.call("ada", "PUT", code, content=CODE).status_code == 200
    data = f"/competitions/{slug}/data/notes.txt"
    assert service.call("organizer", "PUT", data, content=b"read me").is_success
    upload = begun(service, slug, ZIP)
    with unusable_folder(service.context.settings):
        require_unavailable(service.submit("bob", slug, ZIP))
        require_unavailable(send(service, upload, 0, ZIP))
        for who, path in (("ada", sprite), ("organizer", code), ("ada", data)):
            require_unavailable(service.call(who, "GET", path))
        require_unavailable(service.call("ada", "PUT", code, content=CODE))
        reasons = [str(vars(record).get("error")) for record in caplog.records if vars(record).get("status") == 503]
        assert reasons
        assert all(reason.startswith("The blob store cannot be used: ") for reason in reasons), reasons
        state: Any = service.app.state
        state.readiness = readiness_of(state)
        ready = service.http.get("/readyz")
        assert ready.status_code == 503
        assert ready.json()["blobs"].startswith("The store of files cannot be used")
        assert service.call("ada", "GET", f"/competitions/{slug}/leaderboard").status_code == 200
    assert send(service, upload, 0, ZIP).status_code == 204
    assert service.submit("bob", slug, ZIP).status_code == 202
    assert service.call("ada", "GET", data).content == b"read me"


def test_the_client_says_that_the_store_cannot_be_used(
    terminal: CliTerminal, service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition()
    (tmp_path / "entry.zip").write_bytes(ZIP)
    monkeypatch.setattr(steps, "RETRY_SECONDS", (0.0,))
    monkeypatch.setattr(problem_details, "RETRY_AFTER", {StoreUnavailable: 0})
    with unusable_folder(service.context.settings):
        refused = terminal.run("submit", slug, tmp_path / "entry.zip")
    assert refused.status == ExitCode.NO_ANSWER
    assert refused.err.count(f"{SENTENCE} Trying again.") == 1, refused.err
    assert refused.err.rstrip().endswith(SENTENCE)
    assert terminal.run("submit", slug, tmp_path / "entry.zip").status == ExitCode.DONE
