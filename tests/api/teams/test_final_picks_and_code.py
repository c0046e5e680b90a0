"""A team's own entries through the API: explanation, would-be rank, sprite sheet, final picks, code, late entries."""

import io
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from PIL import Image
from sqlalchemy import text
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions import setup
from scorer.competitions.spec import CompetitionChanges
from scorer.db import competitions
from scorer.db.tables import Account
from scorer.evidence.code_uploads import MAX_CODE_BYTES
from tests.api.conftest import Service, audit_entries, refused
from tests.api.submissions.tus import stored
from tests.factories import NOTEBOOK, code_zip, make_zip, noise_images

pytestmark = pytest.mark.usefixtures("one_day")

PRIVATE = {"track": "private"}
LAST = ((11, 16), (12, 32))
"""Seed and image size of two entries of the last minute. The second size is too large."""


# Explanations of scores


def test_an_entry_shows_its_would_be_rank_and_penalty(service: Service) -> None:
    slug = service.competition()
    near = np.clip(noise_images(1, 40, 16)[:8].astype(int) + 20, 0, 255).astype(np.uint8)
    first = service.scored("ada", slug, noise_images(10))["measurements"][0]
    assert (first["rank"], first["would_be_rank"]) == (1, 1)
    assert "so it is not penalised and its score is its FID." in first["explanation"]
    tau = first["memorization_distance"] * 0.99
    body = {"method": "manual", "tau": tau, "reason": "a test"}
    assert service.call("organizer", "POST", f"/competitions/{slug}/tracks/public/thresholds", json=body).is_success
    second = service.scored("ada", slug, near)["measurements"][0]
    assert second["penalised"]
    assert (second["rank"], second["would_be_rank"]) == (None, 1), (
        "the entry is not the team's best, and the team is alone"
    )
    factor = second["mifid"] / second["fid"]
    assert f"is below tau = {tau:.3f}" in second["explanation"]
    assert f"multiplied by {factor:.3g}" in second["explanation"]
    third = service.scored("bob", slug, near)["measurements"][0]
    assert (third["rank"], third["would_be_rank"]) == (2, 2)


def test_a_copy_explains_why_it_has_no_score(service: Service) -> None:
    slug = service.competition()
    (seen,) = service.scored("ada", slug, noise_images(1, 40, 16)[:8])["measurements"]
    assert (seen["rank"], seen["would_be_rank"]) == (None, None)
    assert seen["explanation"].startswith("It is a copy and has no score. 100% of its images are training images")


# The sprite


def test_the_team_and_organizers_see_the_sprite_sheet(service: Service) -> None:
    slug = service.competition()
    images = noise_images(10)
    entry = service.scored("ada", slug, images)
    path = entry["sprite"].removeprefix("/api/v1")
    for who in ("ada", "organizer", "admin"):
        answer = service.call(who, "GET", path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "image/png"
        assert answer.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert answer.headers["vary"] == "Authorization, Cookie"
    picture = np.asarray(Image.open(io.BytesIO(answer.content)))
    assert np.array_equal(picture, images.transpose(1, 0, 2, 3).reshape(16, 8 * 16, 3))
    known = service.call("ada", "GET", path, headers={"If-None-Match": answer.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    refused(service.call("bob", "GET", path), 404, "no-submission")
    refused(service.call("bob", "GET", path, headers={"If-None-Match": answer.headers["etag"]}), 404, "no-submission")
    refused(service.call(None, "GET", path), 401, "no-token")


def test_an_unchecked_entry_has_no_sprite_sheet(service: Service) -> None:
    slug = service.competition()
    entry = service.entered("ada", slug, make_zip(noise_images(10)))
    assert entry["sprite"] is None
    refused(service.call("ada", "GET", f"/submissions/{entry['id']}/sprite"), 404, "no-sprite")


# Picks


def test_without_picks_the_best_public_entries_count(service: Service) -> None:
    slug = service.competition()
    path = f"/competitions/{slug}/picks"
    refused(service.call("ada", "GET", path), 404, "no-team")
    entries = [service.scored("ada", slug, noise_images(seed)) for seed in (10, 11, 12)]
    by_score = sorted(entries, key=lambda entry: entry["measurements"][0]["mifid"])
    seen = service.call("ada", "GET", path).json()
    assert seen["submissions"] == [entry["id"] for entry in by_score[:2]]
    assert (seen["chosen"], seen["most"], seen["picked_by"]) == (False, 2, None)


def test_the_newest_picks_count_and_earlier_ones_stay_stored(service: Service) -> None:
    slug = service.competition()
    path = f"/competitions/{slug}/picks"
    ids = [service.scored("ada", slug, noise_images(seed))["id"] for seed in (10, 11, 12)]
    first = service.call("ada", "PUT", path, json={"submissions": [ids[2], ids[0], ids[2]]})
    assert first.status_code == 200, first.text
    assert first.json() | {"until": "", "picked_at": ""} == {
        "submissions": [ids[2], ids[0]], "chosen": True, "most": 2, "picked_by": "ada", "until": "", "picked_at": "",
    }  # fmt: skip
    service.call("ada", "PUT", path, json={"submissions": [ids[2], ids[0]]})
    service.call("ada", "PUT", path, json={"submissions": [ids[1]]})
    assert service.call("ada", "GET", path).json()["submissions"] == [ids[1]]
    assert service.call("ada", "PUT", path, json={"submissions": []}).json()["chosen"] is False
    with service.context.sessions() as session:
        rows = session.execute(text("SELECT submission_refs FROM pick_sets ORDER BY id")).scalars().all()
    assert [len(refs) for refs in rows] == [2, 1, 0], "repeating a set is not a new choice"


def test_only_own_entries_with_a_possible_score_can_be_picked(
    service: Service,
) -> None:
    slug, other = service.competition(), service.competition()
    path = f"/competitions/{slug}/picks"
    own = [service.scored("ada", slug, noise_images(seed))["id"] for seed in (10, 11, 12)]
    elsewhere = service.scored("ada", other, noise_images(13))["id"]
    foreign = service.scored("bob", slug, noise_images(14))["id"]
    rejected = service.submit("ada", slug, make_zip(noise_images(1, 8, 32))).json()["id"]
    service.run_jobs()
    refused(service.call("ada", "PUT", path, json={"submissions": own}), 422, "too-many-picks")
    faults = {}
    for wrong in (foreign, elsewhere, rejected, "nothing"):
        body = {"submissions": [own[0], wrong]}
        problem = refused(service.call("ada", "PUT", path, json=body), 422, "not-pickable")
        faults[wrong] = [fault.replace(wrong, "X") for fault in problem["faults"]]
    reason = "X is not an entry of your team that has a score or may get one"
    assert set(map(tuple, faults.values())) == {(reason,)}, "the reason does not depend on the entry"
    assert service.call("ada", "GET", path).json()["chosen"] is False


def test_an_entry_of_the_last_minute_can_be_picked_while_it_waits(service: Service) -> None:
    slug = service.competition()
    path = f"/competitions/{slug}/picks"
    first = service.scored("ada", slug, noise_images(10))["id"]
    waiting = [service.submit("ada", slug, make_zip(noise_images(seed, 8, size))).json()["id"] for seed, size in LAST]
    service.close(slug, ago=timedelta(0))  # uploads can still finish in the grace period
    picked = service.call("ada", "PUT", path, json={"submissions": waiting})
    assert picked.status_code == 200, picked.text
    assert (picked.json()["chosen"], picked.json()["submissions"]) == (True, waiting)

    def place() -> tuple[str, int | None]:
        (row,) = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard", params=PRIVATE).json()["entries"]
        return row["submission_id"], row["rank"]

    assert place() == (first, 1), "until the pick has a score"
    service.run_jobs()
    good, bad = waiting
    assert service.call("ada", "GET", f"/submissions/{bad}").json()["status"] == "rejected"
    assert service.call("ada", "GET", path).json()["submissions"] == [good]
    assert place() == (good, 1)


def test_a_team_with_a_cancelled_pick_is_ranked_by_its_best(service: Service) -> None:
    slug = service.competition()
    path = f"/competitions/{slug}/picks"
    first = service.scored("ada", slug, noise_images(10))["id"]
    waiting = service.submit("ada", slug, make_zip(noise_images(11))).json()["id"]
    assert service.call("ada", "PUT", path, json={"submissions": [waiting]}).status_code == 200
    assert service.call("ada", "POST", f"/submissions/{waiting}/cancel").status_code == 200
    seen = service.call("ada", "GET", path).json()
    assert (seen["chosen"], seen["submissions"]) == (False, [first])
    board = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard", params=PRIVATE).json()
    assert [(row["submission_id"], row["rank"]) for row in board["entries"]] == [(first, 1)]


def test_picks_are_checked_against_concurrent_changes(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """An organizer can lower the number of picks while a request waits."""
    slug = service.competition(final_picks=2)
    entered = [service.submit("ada", slug, make_zip(noise_images(seed))).json()["id"] for seed in (10, 11)]
    lock_competition = competitions.lock_competition

    def meanwhile(session: Session, of: str, *, share: bool) -> None:
        monkeypatch.setattr(competitions, "lock_competition", lock_competition)
        with service.context.sessions.begin() as other:
            author = other.query(Account).filter_by(handle="organizer").one()
            setup.change(Acting(other, author, datetime.now(UTC)), slug, CompetitionChanges(final_picks=1))
        lock_competition(session, of, share=share)

    monkeypatch.setattr(competitions, "lock_competition", meanwhile)
    path = f"/competitions/{slug}/picks"
    problem = refused(service.call("ada", "PUT", path, json={"submissions": entered}), 422, "too-many-picks")
    assert problem["most"] == 1
    assert not service.call("ada", "GET", path).json()["chosen"]


def test_picks_cannot_change_after_the_close(service: Service) -> None:
    slug = service.competition()
    path = f"/competitions/{slug}/picks"
    entry = service.scored("ada", slug, noise_images(10))["id"]
    assert service.call("ada", "PUT", path, json={"submissions": [entry]}).status_code == 200
    service.close(slug)
    problem = refused(service.call("ada", "PUT", path, json={"submissions": []}), 409, "closed")
    assert problem["title"].startswith("The deadline was 20")
    assert problem["title"].endswith(". You can no longer change your picks.")
    assert service.call("ada", "GET", path).json()["submissions"] == [entry]


# Code


@pytest.mark.parametrize(
    ("content", "kind", "media", "suffix"),
    [(code_zip(), "zip", "application/zip", "zip"), (NOTEBOOK, "notebook", "application/x-ipynb+json", "ipynb")],
)
def test_judges_download_code_and_the_team_sees_its_hash(
    service: Service, content: bytes, kind: str, media: str, suffix: str
) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    assert entry["code"] is None
    path = f"/submissions/{entry['id']}/code"
    attached = service.call("ada", "PUT", path, content=content)
    assert attached.status_code == 200, attached.text
    seen = service.call("ada", "GET", f"/submissions/{entry['id']}").json()["code"]
    assert seen == attached.json()
    assert (seen["kind"], seen["bytes"], seen["attached_by"]) == (kind, len(content), "ada")
    service.hire("rita")
    for who in ("organizer", "admin", "rita"):
        answer = service.call(who, "GET", path)
        assert (answer.status_code, answer.content) == (200, content)
        assert answer.headers["content-type"] == media
        assert answer.headers["content-disposition"] == f'attachment; filename="entry-{entry["ref"]}-code.{suffix}"'
        assert answer.headers["x-content-type-options"] == "nosniff"
    subject, after = f"submission:{entry['id']}", {"sha256": seen["sha256"]}
    readers = [(who, subject, None, after) for who in ("organizer", "admin", "rita")]
    assert audit_entries(service, "code.downloaded") == readers
    refused(service.call("ada", "GET", path), 403, "wrong-role")
    refused(service.call("bob", "GET", path), 404, "no-submission")
    refused(service.call(None, "GET", path), 401, "no-token")


def test_code_can_be_replaced_until_the_close(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    path = f"/submissions/{entry['id']}/code"
    service.call("ada", "PUT", path, content=code_zip())
    blob_count = len(stored(service, "submissions"))
    replaced = service.call("ada", "PUT", path, content=NOTEBOOK).json()
    assert len(stored(service, "submissions")) == blob_count
    assert service.call("organizer", "GET", path).content == NOTEBOOK
    with service.context.sessions() as session:
        hashes = session.execute(text("SELECT sha256 FROM code_attachments ORDER BY id")).scalars().all()
    assert len(hashes) == 2
    assert hashes[1] == replaced["sha256"]
    service.close(slug)
    refused(service.call("ada", "PUT", path, content=code_zip()), 409, "closed")
    assert service.call("organizer", "GET", path).content == NOTEBOOK


@pytest.mark.parametrize(
    ("content", "problem_slug"),
    [
        (b"", "not-code"),
        (b"import torch", "not-code"),
        (b"[" * 100_000, "not-code"),
        (b'{"cells": []}', "not-code"),
        (code_zip()[:-10], "not-a-zip"),
        (b"PK\3\4 and nothing more", "not-a-zip"),
    ],
)
def test_code_that_is_not_a_zip_or_notebook_is_refused(service: Service, content: bytes, problem_slug: str) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    before = stored(service, "submissions")
    refused(service.call("ada", "PUT", f"/submissions/{entry['id']}/code", content=content), 422, problem_slug)
    assert stored(service, "submissions") == before


def test_code_over_20_mb_is_refused_with_or_without_a_length(service: Service) -> None:
    slug = service.competition()
    path = f"/submissions/{service.scored('ada', slug, noise_images(10))['id']}/code"
    before = stored(service, "submissions")
    refused(service.call("ada", "PUT", path, content=bytes(MAX_CODE_BYTES + 1)), 413, "too-large")
    refused(service.call("ada", "PUT", path, content=iter([bytes(MAX_CODE_BYTES), b"x"])), 413, "too-large")
    assert stored(service, "submissions") == before


def test_only_the_team_can_attach_code(service: Service) -> None:
    slug = service.competition()
    path = f"/submissions/{service.scored('ada', slug, noise_images(10))['id']}/code"
    refused(service.call("bob", "PUT", path, content=NOTEBOOK), 404, "no-submission")
    refused(service.call("organizer", "PUT", path, content=NOTEBOOK), 403, "not-yours")
    refused(service.call(None, "PUT", path, content=NOTEBOOK), 401, "no-token")


# After the deadline


def test_late_entries_are_refused_by_default(service: Service) -> None:
    slug = service.competition()
    service.close(slug)
    refused(service.submit("ada", slug, make_zip(noise_images(10))), 409, "closed")


def test_late_entries_have_their_own_board_and_no_private_track(service: Service) -> None:
    slug = service.competition(late_submissions=True)
    in_time = service.scored("ada", slug, noise_images(10))
    assert in_time["late"] is False
    service.close(slug)
    late = [service.scored("bob", slug, noise_images(seed)) for seed in (11, 12)]
    assert [(entry["late"], entry["status"]) for entry in late] == [(True, "scored")] * 2
    kinds = [notice["kind"] for notice in service.call("bob", "GET", "/notices").json()["notices"]]
    assert kinds == ["entry-scored"] * 2
    path = f"/competitions/{slug}/leaderboard"
    main = service.call(None, "GET", path).json()
    own = service.call(None, "GET", path, params={"track": "public", "late": True}).json()
    assert (main["late"], main["teams"], [place["team"] for place in main["entries"]]) == (False, 1, ["Ada"])
    assert (own["late"], own["teams"], [place["team"] for place in own["entries"]]) == (True, 1, ["Bob"])
    assert own["entries"][0]["entries"] == 2
    assert "Bob" not in service.call(None, "GET", path, params={"format": "csv"}).text
    assert "Bob" in service.call(None, "GET", path, params={"format": "csv", "late": True}).text
    private = service.call("organizer", "GET", path, params={"track": "private"}).json()
    assert [place["team"] for place in private["entries"]] == ["Ada"]
    seen = service.call("organizer", "GET", f"/submissions/{late[0]['id']}").json()
    assert ([measurement["track"] for measurement in seen["measurements"]], seen["private_state"]) == (["public"], None)
    best = min(late, key=lambda entry: entry["measurements"][0]["mifid"])
    seen = service.call("bob", "GET", f"/submissions/{best['id']}").json()["measurements"][0]
    assert (seen["rank"], seen["would_be_rank"]) == (1, 1)
    problem = service.call("organizer", "GET", path, params={"track": "private", "late": True})
    refused(problem, 422, "late-is-public")


def test_the_late_board_and_the_main_one_have_different_etags(service: Service) -> None:
    slug = service.competition(late_submissions=True)
    path = f"/competitions/{slug}/leaderboard"
    etags = {service.call(None, "GET", path, params={"late": late}).headers["etag"] for late in (False, True)}
    assert len(etags) == 2


def test_a_late_copy_is_listed_on_the_late_board(service: Service) -> None:
    slug = service.competition(late_submissions=True)
    service.close(slug)
    service.scored("bob", slug, noise_images(1, 40, 16)[:8])
    path = f"/competitions/{slug}/leaderboard"
    assert service.call(None, "GET", path).json()["copies"] == []
    assert [entry["team"] for entry in service.call(None, "GET", path, params={"late": True}).json()["copies"]] == [
        "Bob"
    ]


def test_late_entries_have_their_own_limits(service: Service) -> None:
    slug = service.competition(late_submissions=True, daily_limit=1)
    service.scored("ada", slug, noise_images(10))
    service.close(slug, ago=timedelta(seconds=1))
    assert service.scored("ada", slug, noise_images(11))["late"] is True
    refused(service.submit("ada", slug, make_zip(noise_images(12))), 429, "daily-limit")
    service.change(slug, closes_at=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    refused(service.submit("ada", slug, make_zip(noise_images(13))), 429, "daily-limit")
    with service.context.sessions.begin() as session:
        session.execute(text("UPDATE submissions SET accepted_at = accepted_at - interval '2 days' WHERE NOT late"))
    assert service.submit("ada", slug, make_zip(noise_images(13))).status_code == 202, "the late entry does not count"


def test_a_late_entry_cannot_be_picked(service: Service) -> None:
    slug = service.competition(late_submissions=True)
    in_time = service.scored("ada", slug, noise_images(10))["id"]
    service.close(slug)
    late = service.scored("ada", slug, noise_images(11))["id"]
    path = f"/competitions/{slug}/picks"
    assert service.call("ada", "GET", path).json()["submissions"] == [in_time]
    service.change(slug, closes_at=(datetime.now(UTC) + timedelta(days=1)).isoformat())
    refused(service.call("ada", "PUT", path, json={"submissions": [late]}), 422, "not-pickable")


def test_late_entries_are_accepted_after_the_publication(service: Service) -> None:
    slug = service.competition(late_submissions=True)
    service.close(slug)
    body = {"published": True, "reason": "done", "override": "a test"}
    assert service.call("organizer", "POST", f"/competitions/{slug}/publication", json=body).status_code == 201
    assert service.scored("ada", slug, noise_images(11))["late"] is True
