"""Uploads under way reserve bytes of the quotas: a share of what is free, and only for minutes without a first byte."""

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.db.tables import Account, Competition, Upload
from scorer.submissions import upload_bytes
from scorer.submissions.reservations import RESERVED_FOR
from scorer.teams import storage
from scorer.teams.storage import SHARE, limits_of
from tests.api.conftest import API, Service
from tests.api.submissions.test_resumable import ZIP, begun, checksum, create, head, send, slug, stored
from tests.api.submissions.test_uploads import refused
from tests.api.teams.test_storage import SECOND, limited, used

__all__ = ["slug"]  # a fixture is found by its name here
pytestmark = pytest.mark.usefixtures("one_day")


def limit_competition(service: Service, limit: int) -> None:
    """Give competitions a quota of this many bytes."""
    service.app.state.settings = service.app.state.settings.model_copy(update={"max_competition_bytes": limit})


def staged(service: Service, slug: str) -> int:
    """The bytes that all uploads of a competition have reserved."""
    return int(service.call("organizer", "GET", f"/competitions/{slug}/storage").json()["staged_bytes"])


def let_minutes_pass(service: Service) -> None:
    """Let the time pass that announcements without a byte count."""
    with service.context.sessions.begin() as session:
        for upload in session.query(Upload).filter(Upload.reserved_until.is_not(None)):
            assert upload.reserved_until == upload.begun_at + RESERVED_FOR
            upload.reserved_until = service.context.now() - timedelta(seconds=1)


def test_announcements_of_many_teams_reserve_a_share_of_the_free_bytes(service: Service, slug: str) -> None:
    limit, share = 4 * len(ZIP), 4 * len(ZIP) // SHARE
    limit_competition(service, limit)
    for who in ("bob", "eve"):
        for length in (len(ZIP) // 2, len(ZIP), len(ZIP)):
            path = create(service, slug, length, who).headers["location"].removeprefix(API)
            assert staged(service, slug) <= share + 10
            assert send(service, path, 0, ZIP[:1], who).status_code == 204
    assert share <= staged(service, slug) <= share + 10, "a first byte keeps no more than was reserved"
    assert create(service, slug, limit - share - 10, "ada").status_code == 201
    assert service.submit("ada", slug, ZIP).status_code == 202
    refused(create(service, slug, limit, "ada"), 409, "competition-storage")


def test_two_transactions_do_not_reserve_the_same_bytes(service: Service, slug: str) -> None:
    limits = replace(limits_of(service.context.settings), competition=100)

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
    assert staged(service, slug) == 0, "a request without a byte renews nothing"
    assert send(service, path, 0, ZIP[:1]).status_code == 204
    assert staged(service, slug) == len(ZIP)
    let_minutes_pass(service)
    assert staged(service, slug) == len(ZIP), "it lasts from the first byte on"
    assert "kennel-submission" in send(service, path, 1, ZIP[1:]).headers
    assert staged(service, slug) == 0


@pytest.mark.parametrize("checked", [False, True])
def test_a_released_upload_whose_bytes_have_no_room_stays_usable(service: Service, slug: str, checked: bool) -> None:
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
def test_bytes_beyond_the_share_are_reserved_before_they_are_stored(
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


def test_a_released_reservation_makes_room_in_the_quota_of_a_team(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(service, monkeypatch, max_team_bytes=len(ZIP))
    path = begun(service, slug)
    refused(create(service, slug, 1), 409, "team-storage")
    let_minutes_pass(service)
    assert create(service, slug, 1).status_code == 201
    refused(send(service, path, 0, ZIP), 409, "team-storage")
