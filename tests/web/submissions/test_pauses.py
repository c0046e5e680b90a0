"""Paused scoring: the commands and the page for admins, and the message for teams."""

from typing import Any

import pytest
from typer.testing import CliRunner

from kennel_client.api import ApiClient
from kennel_client.cli.main import make_admin
from kennel_client.cli.submissions import event_text
from kennel_client.cli.tables import status_text
from tests.api.conftest import API, Service
from tests.factories import make_zip, noise_images
from tests.web.pages import enter, read


@pytest.fixture
def command(service: Service, monkeypatch: pytest.MonkeyPatch) -> Any:
    """``kennel admin`` against the service, as the admin."""

    def send(self: ApiClient, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": self._http.headers["Authorization"]}
        answer = service.http.request(method, f"{API}{path}", headers=headers, **options)
        assert answer.status_code < 300, answer.text
        return answer

    monkeypatch.setattr(ApiClient, "send_once", send)
    monkeypatch.setenv("KENNEL_TOKEN", service.tokens["admin"])

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(make_admin({}), list(arguments))
        assert done.exit_code == 0, (done.output, done.exception)
        return done.output

    return run


@pytest.mark.parametrize(
    ("stop", "go"),
    [
        (("queue", "pause", "check"), ("queue", "resume", "check")),
        (("competition", "pause", "SLUG"), ("competition", "resume", "SLUG")),
        (("worker", "drain", "*"), ("worker", "resume", "*")),
    ],
    ids=["queue", "competition", "workers"],
)
def test_an_entry_waits_while_scoring_is_paused_and_its_team_sees_it(
    service: Service, command: Any, stop: tuple[str, ...], go: tuple[str, ...]
) -> None:
    slug = service.competition()
    stop, go = (tuple(slug if word == "SLUG" else word for word in words) for words in (stop, go))
    assert "The machine is moved." in command(*stop, "--reason", "The machine is moved.")
    entry = service.submit("ada", slug, make_zip(noise_images(9))).json()["id"]
    service.run_jobs()
    view = service.call("ada", "GET", f"/submissions/{entry}").json()
    assert (view["status"], view["queue_position"], view["paused"]) == ("received", 1, True)
    assert status_text(view) == "received (position 1, scoring is paused)"
    enter(service, "ada")
    assert not hidden(service, entry)
    assert "position 1; scoring is paused" in " ".join(read(service, f"/competitions/{slug}/entries").text.split())
    assert command(*go) == "Nothing is paused.\n"
    assert hidden(service, entry)
    service.run_jobs()
    view = service.call("ada", "GET", f"/submissions/{entry}").json()
    assert (view["status"], view["paused"]) == ("scored", False)


def hidden(service: Service, entry: str) -> bool:
    """Whether the sentence about the pause is hidden on the entry's page."""
    (sentence,) = [
        paragraph
        for paragraph in read(service, f"/submissions/{entry}").all("p")
        if paragraph.attributes.get("data-live-for") == "paused"
    ]
    assert "Scoring is paused" in sentence.text
    return "hidden" in sentence.attributes


def test_only_admins_pause_scoring_and_see_pauses(service: Service, command: Any) -> None:
    for who, status in ((None, 401), ("ada", 403), ("organizer", 403)):
        assert service.call(who, "POST", "/admin/jobs/pauses", json={"queue": "score"}).status_code == status
    command("worker", "drain", "gpu-1", "--reason", "A new card.")
    enter(service, "admin")
    page = read(service, "/admin/jobs")
    (part,) = [section for section in page.all("section") if section.attributes.get("aria-labelledby") == "paused"]
    assert "Worker gpu-1 paused by admin" in " ".join(part.text.split())
    assert "A new card." in part.text
    assert [pause["worker"] for pause in service.call("admin", "GET", "/admin/jobs").json()["pauses"]] == ["gpu-1"]


def test_the_text_of_an_event_mentions_paused_scoring() -> None:
    event = {"status": "queued", "stage_in_words": None, "queue_position": 3, "estimate_seconds": None, "paused": True}
    assert event_text(event) == "queued (position 3, scoring is paused)"
