"""Storage quotas: what a team and a competition have in the store is counted, shown and limited."""

from datetime import UTC, datetime
from typing import Any

import pytest

from api.http import dependencies
from api.submissions import file_uploads
from scorer.db.tables import Submission
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service
from tests.api.submissions.test_uploads import refused
from tests.api.teams.test_teams import join
from tests.factories import noise_images, zip_of
from tests.sql_statements import counted_statements

__all__ = ["terminal"]  # a fixture is found by its name here
ZIP, SECOND = zip_of(noise_images(10)), zip_of(noise_images(11))


def limited(service: Service, monkeypatch: pytest.MonkeyPatch, **limits: int | None) -> None:
    """The service with other limits."""
    monkeypatch.setattr(service.app.state, "settings", service.app.state.settings.model_copy(update=limits))


def begin(service: Service, slug: str, who: str, length: int) -> Any:
    """An attempt to begin an upload."""
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(length)}
    return service.call(who, "POST", f"/competitions/{slug}/uploads", headers=headers)


def used(service: Service, slug: str, who: str = "ada") -> tuple[int, int]:
    """The bytes of a team that are stored, and those under way."""
    limits = service.call(who, "GET", f"/competitions/{slug}/limits").json()
    return limits["stored_bytes"], limits["staged_bytes"]


def test_a_team_sees_what_it_has_and_may_have_no_more(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition(daily_limit=None, pending_limit=9)
    join(service, slug, "ada", "bob")
    limit = len(ZIP) + len(SECOND) + 40
    limited(service, monkeypatch, max_team_bytes=limit)
    assert used(service, slug) == (0, 0)
    assert begin(service, slug, "bob", 40).status_code == 201
    assert service.submit("ada", slug, ZIP).status_code == 202
    assert used(service, slug) == used(service, slug, "bob") == (len(ZIP), 40)
    too_much = begin(service, slug, "ada", len(SECOND) + 1)
    refused(too_much, 409, "team-storage")
    assert (too_much.json()["used"], too_much.json()["limit"]) == (len(ZIP) + 40, limit)
    assert service.submit("bob", slug, SECOND).status_code == 202, "as much as there is room for"
    for content in (ZIP, iter([ZIP])):  # a form does not say either how large its file is
        refused(service.submit("ada", slug, content), 409, "team-storage")
    assert service.submit("eve", slug, ZIP).status_code == 202, "another team has its own"
    with service.context.sessions.begin() as session:
        for entry in session.query(Submission):
            entry.blob_key, entry.zip_removed_at = None, service.context.now()
    assert used(service, slug) == (0, 40), "zips that are removed make room"


def test_every_generator_of_a_team_counts(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))["id"]
    zips, _ = used(service, slug)

    def hand_in(who: str, generator: bytes) -> Any:
        latent = {"latent": 8, "distribution": "normal"}
        return service.call(who, "PUT", f"/submissions/{entry}/generator", params=latent, content=generator)

    first, second, third = (b"\x08\x08" + bytes(size) for size in (1000, 2000, 3000))
    limited(service, monkeypatch, max_team_bytes=zips + len(first) + len(second))
    assert [hand_in("ada", each).status_code for each in (first, second)] == [202, 202]
    assert used(service, slug)[0] == zips + len(first) + len(second), "the former one stays in the store"
    refused(hand_in("ada", third), 409, "team-storage")
    assert hand_in("ada", second).status_code == 202, "the same one again is none more"
    assert hand_in("organizer", third).status_code == 202, "an organizer hands it in all the same"


def test_a_generator_is_at_most_so_large_whether_it_says_so_or_not(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    slug = service.competition()
    path = f"/submissions/{service.scored('ada', slug, noise_images(10))['id']}/generator"
    limited(service, monkeypatch, generator_max_bytes=1000)
    latent, generator = {"latent": 8, "distribution": "normal"}, b"\x08\x08" + bytes(1000)
    for content in (generator, iter([generator[:500], generator[500:]])):
        refused(service.call("ada", "PUT", path, params=latent, content=content), 413, "too-large")
    assert not [blob for blob in service.context.blobs.stored() if blob.key.startswith("generators/")]
    assert service.call("ada", "PUT", path, params=latent, content=generator[:1000]).status_code == 202


def test_the_code_of_a_team_counts_until_it_is_replaced(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    first, second = (service.scored("ada", slug, noise_images(count))["id"] for count in (10, 11))
    zips, _ = used(service, slug)

    def attach(entry: str, code: Any) -> Any:
        return service.call("ada", "PUT", f"/submissions/{entry}/code", content=code)

    small, large = notebook(1000), notebook(2000)
    limited(service, monkeypatch, max_team_bytes=zips + len(small) + len(large))
    assert [attach(entry, code).status_code for entry, code in ((first, large), (second, small))] == [200, 200]
    assert used(service, slug)[0] == zips + len(small) + len(large)
    (team,) = service.call("organizer", "GET", f"/competitions/{slug}/storage").json()["largest_teams"]
    assert team["stored_bytes"] == zips + len(small) + len(large)
    with monkeypatch.context() as patch:
        patch.setattr(file_uploads, "receive_blob", lambda *_, **__: pytest.fail("what is announced is not received"))
        refused(attach(second, large), 409, "team-storage")
    refused(attach(second, iter([large])), 409, "team-storage")
    assert [attach(entry, code).status_code for entry, code in ((first, small), (second, large))] == [200, 200], (
        "what is replaced makes room"
    )
    assert used(service, slug)[0] == zips + len(small) + len(large)


def notebook(length: int) -> bytes:
    """A notebook of so many bytes."""
    return b'{"cells": [], "nbformat": 4}'.ljust(length)


def test_a_competition_has_a_quota_too_and_organizers_see_who_has_most(
    service: Service, monkeypatch: pytest.MonkeyPatch, terminal: CliTerminal
) -> None:
    slug = service.competition()
    limited(service, monkeypatch, max_competition_bytes=len(ZIP) + len(SECOND), max_team_bytes=None)
    service.submit("ada", slug, ZIP)
    service.submit("organizer", slug, SECOND, benchmark="Held out")
    refused(service.submit("bob", slug, zip_of(noise_images(12))), 409, "competition-storage")
    seen = service.call("organizer", "GET", f"/competitions/{slug}/storage").json()
    assert seen["largest_teams"][0]["stored_bytes"] >= seen["largest_teams"][1]["stored_bytes"]
    assert sorted(each["team"] for each in seen["largest_teams"]) == ["Ada", "Held out"]
    assert seen["stored_bytes"] == sum(each["stored_bytes"] for each in seen["largest_teams"])
    assert (seen["max_bytes"], seen["max_team_bytes"]) == (len(ZIP) + len(SECOND), None)
    refused(service.call("ada", "GET", f"/competitions/{slug}/storage"), 403, "wrong-role")
    printed = terminal.run("admin", "competition", "storage", slug, who="organizer")
    assert printed.status == 0
    assert {line.split("  ")[-1] for line in printed.out.splitlines()} >= {"Ada", "Held out"}


def test_an_unchanged_page_of_a_competition_sums_no_bytes(service: Service) -> None:
    slug = service.competition()
    service.submit("ada", slug, ZIP)
    moment = datetime.now(UTC)
    service.app.dependency_overrides[dependencies.request_time] = lambda: moment
    headers = {"Authorization": f"Bearer {service.tokens['organizer']}"}
    with counted_statements() as whole:
        page = service.http.get(f"/competitions/{slug}", headers=headers)
    with counted_statements() as unchanged:
        again = service.http.get(f"/competitions/{slug}", headers=headers | {"If-None-Match": page.headers["ETag"]})
    assert " stored</li>" in page.text
    assert again.status_code == 304
    assert [any("sum(submissions.bytes)" in each for each in statements) for statements in (whole, unchanged)] == [
        True,
        False,
    ]
