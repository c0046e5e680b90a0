"""Storage quotas: the stored bytes of teams and competitions are counted, shown and limited.

Unfinished uploads reserve a share of the free bytes. Without a first byte, they do so only for minutes."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from api.http import dependencies
from api.submissions import file_uploads
from scorer.acting import Acting
from scorer.db.tables import Account, Competition, Submission, Upload
from scorer.submissions import upload_bytes
from scorer.submissions.upload_reservations import RESERVED_FOR
from scorer.teams import storage
from scorer.teams.storage import SHARE, build_upload_limits
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import API, Service, limited, refused
from tests.api.submissions.tus import ZIP, begun, checksum, create, head, send, stored
from tests.api.teams.membership import join
from tests.factories import make_zip, noise_images
from tests.sql_statements import counted_statements

__all__ = ["terminal"]  # pytest finds the fixture by its name in this module
pytestmark = pytest.mark.usefixtures("one_day")
SECOND = make_zip(noise_images(11))


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition()


def begin(service: Service, slug: str, who: str, length: int) -> Any:
    headers = {"Tus-Resumable": "1.0.0", "Upload-Length": str(length)}
    return service.call(who, "POST", f"/competitions/{slug}/uploads", headers=headers)


def used(service: Service, slug: str, who: str = "ada") -> tuple[int, int]:
    """Return the stored bytes of a team and those of unfinished uploads."""
    limits = service.call(who, "GET", f"/competitions/{slug}/limits").json()
    return limits["stored_bytes"], limits["staged_bytes"]


def test_a_team_sees_its_storage_and_cannot_exceed_its_quota(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
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
    assert service.submit("bob", slug, SECOND).status_code == 202, "the entry fits exactly"
    for content in (ZIP, iter([ZIP])):  # a form does not announce the size of its file either
        refused(service.submit("ada", slug, content), 409, "team-storage")
    assert service.submit("eve", slug, ZIP).status_code == 202, "another team has its own quota"
    with service.context.sessions.begin() as session:
        for entry in session.query(Submission):
            entry.blob_key, entry.zip_removed_at = None, service.context.now()
    assert used(service, slug) == (0, 40), "deleted zips free storage"


def test_every_generator_of_a_team_counts(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))["id"]
    zips, _ = used(service, slug)

    def upload_generator(who: str, generator: bytes) -> Any:
        latent = {"latent": 8, "distribution": "normal"}
        return service.call(who, "PUT", f"/submissions/{entry}/generator", params=latent, content=generator)

    first, second, third = (b"\x08\x08" + bytes(size) for size in (1000, 2000, 3000))
    limited(service, monkeypatch, max_team_bytes=zips + len(first) + len(second))
    assert [upload_generator("ada", generator).status_code for generator in (first, second)] == [202, 202]
    assert used(service, slug)[0] == zips + len(first) + len(second), "the previous generator stays in the store"
    refused(upload_generator("ada", third), 409, "team-storage")
    assert upload_generator("ada", second).status_code == 202, "the same generator needs no more storage"
    assert upload_generator("organizer", third).status_code == 202, "the quota does not apply to organizers"


def test_a_large_generator_is_refused_with_or_without_a_length(
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


def test_the_code_of_a_team_counts_until_its_replacement(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
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
        patch.setattr(file_uploads, "receive_blob", lambda *_, **__: pytest.fail("the announced file was received"))
        refused(attach(second, large), 409, "team-storage")
    refused(attach(second, iter([large])), 409, "team-storage")
    assert [attach(entry, code).status_code for entry, code in ((first, small), (second, large))] == [200, 200], (
        "replaced code frees storage"
    )
    assert used(service, slug)[0] == zips + len(small) + len(large)


def notebook(length: int) -> bytes:
    """Return a notebook of ``length`` bytes."""
    return b'{"cells": [], "nbformat": 4}'.ljust(length)


def test_a_competition_has_a_quota_and_organizers_see_the_largest_teams(
    service: Service, monkeypatch: pytest.MonkeyPatch, terminal: CliTerminal
) -> None:
    slug = service.competition()
    limited(service, monkeypatch, max_competition_bytes=len(ZIP) + len(SECOND), max_team_bytes=None)
    service.submit("ada", slug, ZIP)
    service.submit("organizer", slug, SECOND, benchmark="Held out")
    refused(service.submit("bob", slug, make_zip(noise_images(12))), 409, "competition-storage")
    seen = service.call("organizer", "GET", f"/competitions/{slug}/storage").json()
    assert seen["largest_teams"][0]["stored_bytes"] >= seen["largest_teams"][1]["stored_bytes"]
    assert sorted(team["team"] for team in seen["largest_teams"]) == ["Ada", "Held out"]
    assert seen["stored_bytes"] == sum(team["stored_bytes"] for team in seen["largest_teams"])
    assert (seen["max_bytes"], seen["max_team_bytes"]) == (len(ZIP) + len(SECOND), None)
    refused(service.call("ada", "GET", f"/competitions/{slug}/storage"), 403, "wrong-role")
    printed = terminal.run("admin", "competition", "storage", slug, who="organizer")
    assert printed.status == 0
    assert {line.split("  ")[-1] for line in printed.out.splitlines()} >= {"Ada", "Held out"}


def test_an_unchanged_page_does_not_sum_stored_bytes(service: Service) -> None:
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
    assert [any("sum(submissions.bytes)" in query for query in queries) for queries in (whole, unchanged)] == [
        True,
        False,
    ]


def limit_competition(service: Service, limit: int) -> None:
    """Set the quota of competitions in bytes."""
    service.app.state.settings = service.app.state.settings.model_copy(update={"max_competition_bytes": limit})


def staged(service: Service, slug: str) -> int:
    """Return the bytes that all uploads of a competition have reserved."""
    return int(service.call("organizer", "GET", f"/competitions/{slug}/storage").json()["staged_bytes"])


def let_minutes_pass(service: Service) -> None:
    """Let the reservations of uploads without a first byte expire."""
    with service.context.sessions.begin() as session:
        for upload in session.query(Upload).filter(Upload.reserved_until.is_not(None)):
            assert upload.reserved_until == upload.begun_at + RESERVED_FOR
            upload.reserved_until = service.context.now() - timedelta(seconds=1)


def test_announced_uploads_reserve_a_share_of_the_free_bytes(service: Service, slug: str) -> None:
    limit, share = 4 * len(ZIP), 4 * len(ZIP) // SHARE
    limit_competition(service, limit)
    for who in ("bob", "eve"):
        for length in (len(ZIP) // 2, len(ZIP), len(ZIP)):
            path = create(service, slug, length, who).headers["location"].removeprefix(API)
            assert staged(service, slug) <= share + 10
            assert send(service, path, 0, ZIP[:1], who).status_code == 204
    assert share <= staged(service, slug) <= share + 10, "a first byte keeps only the reserved bytes"
    assert create(service, slug, limit - share - 10, "ada").status_code == 201
    assert service.submit("ada", slug, ZIP).status_code == 202
    refused(create(service, slug, limit, "ada"), 409, "competition-storage")


def test_two_transactions_do_not_reserve_the_same_bytes(service: Service, slug: str) -> None:
    limits = replace(build_upload_limits(service.context.settings), competition=100)

    def take(session: Session) -> None:
        competition = session.query(Competition).filter_by(slug=slug).one()
        account = session.query(Account).filter_by(handle="ada").one()
        now = service.context.now()
        storage.require_room(Acting(session, account, now), competition, limits, wanted=1, benchmark=False)

    with service.context.sessions() as first, service.context.sessions() as second:
        take(first)
        second.execute(text("SET LOCAL lock_timeout = '10ms'"))
        with pytest.raises(OperationalError, match="lock timeout"):
            take(second)


def test_an_empty_reservation_is_released_and_the_first_byte_renews_it(service: Service, slug: str) -> None:
    limit_competition(service, 4 * len(ZIP))
    path = begun(service, slug)
    assert (staged(service, slug), used(service, slug)[1]) == (len(ZIP), len(ZIP))
    let_minutes_pass(service)
    assert (staged(service, slug), used(service, slug)[1]) == (0, 0)
    assert send(service, path, 0, b"").status_code == 204
    assert staged(service, slug) == 0, "a request without bytes does not renew the reservation"
    assert send(service, path, 0, ZIP[:1]).status_code == 204
    assert staged(service, slug) == len(ZIP)
    let_minutes_pass(service)
    assert staged(service, slug) == len(ZIP), "the reservation lasts after the first byte"
    assert "kennel-submission" in send(service, path, 1, ZIP[1:]).headers
    assert staged(service, slug) == 0


@pytest.mark.parametrize("checked", [False, True])
def test_an_upload_with_an_expired_reservation_stays_usable(service: Service, slug: str, checked: bool) -> None:
    limit_competition(service, len(ZIP) + len(SECOND) - 1)
    path = begun(service, slug)
    let_minutes_pass(service)
    assert service.submit("bob", slug, SECOND).status_code == 202
    headers = {"Upload_Checksum": checksum("sha1", ZIP)} if checked else {}
    refused(send(service, path, 0, ZIP, **headers), 409, "competition-storage")
    assert (head(service, path).headers["upload-offset"], stored(service, "uploads")) == ("0", [])
    limit_competition(service, len(ZIP) + len(SECOND))
    assert "kennel-submission" in send(service, path, 0, ZIP, **headers).headers


@pytest.mark.parametrize("checked", [False, True])
def test_bytes_over_the_share_are_reserved_before_they_are_stored(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch, checked: bool
) -> None:
    monkeypatch.setattr(upload_bytes, "PART_BYTES", 1)
    limit_competition(service, 2 * len(ZIP))
    path, share = begun(service, slug), 2 * len(ZIP) // SHARE
    assert staged(service, slug) == share
    assert send(service, path, 0, ZIP[: share + 10]).status_code == 204
    assert share + 10 <= staged(service, slug) <= share + 11
    limit_competition(service, share + 20)
    headers = {"Upload_Checksum": checksum("sha1", ZIP[share + 10 :])} if checked else {}
    refused(send(service, path, share + 10, ZIP[share + 10 :], **headers), 409, "competition-storage")
    assert sum(part.stat().st_size for part in stored(service, "uploads")) == share + 10
    limit_competition(service, len(ZIP))
    assert "kennel-submission" in send(service, path, share + 10, ZIP[share + 10 :], **headers).headers


def test_an_expired_reservation_frees_the_quota_of_a_team(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(service, monkeypatch, max_team_bytes=len(ZIP))
    path = begun(service, slug)
    refused(create(service, slug, 1), 409, "team-storage")
    let_minutes_pass(service)
    assert create(service, slug, 1).status_code == 201
    refused(send(service, path, 0, ZIP), 409, "team-storage")
