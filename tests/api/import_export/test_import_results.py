"""Imports: a table of results becomes entries exactly once, or not at all."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from kennel_client.cli.main import make_admin
from scorer.errors import Conflict
from tests.api.conftest import Service, refused
from tests.api.conftest import audit_entries as acts
from tests.api.import_export.files import ROWS, load, table
from tests.factories import noise_images
from tests.http_server import serve
from worker.scoring import rescore


def counts(service: Service) -> dict[str, int]:
    """Return the row counts of all tables that an import can change."""
    tables = (
        "competitions",
        "teams",
        "submissions",
        "submission_events",
        "measurements",
        "labels",
        "rulings",
        "thresholds",
    )
    with service.context.sessions() as session:
        return {name: session.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in tables}


def test_importing_a_table_twice_creates_one_competition(service: Service) -> None:
    answer = load(service, "old", title="The old one", file_name="old.csv")
    assert answer.status_code == 201, answer.text
    done = answer.json()
    assert done["reproduced"]["public"] == {"compared": 4, "largest_relative_difference": pytest.approx(0, abs=5e-15)}
    assert done["reproduced"]["private"] == {"compared": 3, "largest_relative_difference": pytest.approx(0, abs=5e-15)}
    assert done | {"reproduced": {}} == {
        "competition": "old", "created": True, "rows": 4, "added": 4, "known": 0, "labelled": 3, "disqualified": 1,
        "ignored_columns": [], "reproduced": {},
    }  # fmt: skip
    once = counts(service)
    assert once == {
        "competitions": 1, "teams": 4, "submissions": 4, "submission_events": 4, "measurements": 8, "labels": 3,
        "rulings": 1, "thresholds": 2,
    }  # fmt: skip
    again = load(service, "old")
    assert (again.status_code, again.json()["added"], again.json()["known"]) == (200, 0, 4)
    assert counts(service) == once

    board = service.call("organizer", "GET", "/competitions/old/leaderboard").json()
    assert [(line["team"], line["score"]) for line in board["entries"]][:2] == [("Entry 101", 20.0), ("Entry 99", 21.0)]
    assert {line["team"]: line["label"] for line in board["entries"]}["Entry 99"] == "legitimate"
    seen = service.call(None, "GET", "/competitions/old").json()
    assert (seen["title"], seen["phase"]) == ("The old one", "review")
    (first, second) = acts(service, "results.imported")
    assert (first[0], first[1], first[3]["added"], second[3]["added"]) == ("organizer", "competition:old", 4, 0)
    reasons = [act[3]["reason"] for act in acts(service, "threshold.chosen")]
    assert reasons == ["The tau that old.csv was scored with."] * 2


def test_times_follow_the_submission_ids(service: Service) -> None:
    when: Any = {"opens_at": "2019-06-28T00:00:00Z", "closes_at": "2019-06-28T00:00:05Z"}
    assert load(service, "old", **when).status_code == 201
    listed = service.call("organizer", "GET", "/competitions/old/submissions").json()["submissions"]
    seen = [(entry["team"], entry["accepted_at"]) for entry in reversed(listed)]
    assert seen == [
        (f"Entry {name}", f"2019-06-28T00:00:0{second}Z") for second, name in enumerate(("99", "101", "102", "103"), 1)
    ]


def test_new_rows_are_added_and_changed_rows_refused(service: Service) -> None:
    assert load(service, "old", table(*ROWS[:2])).status_code == 201
    before = counts(service)
    changed = [(*ROWS[0][:3], 20.5, *ROWS[0][4:]), *ROWS[1:]]
    problem = refused(load(service, "old", table(*changed)), 409, "changed-rows")
    assert problem["faults"] == ["line 2: 101"]
    assert counts(service) == before
    assert load(service, "old").json()["added"] == 2
    assert counts(service)["submissions"] == 4


def test_a_published_final_board_accepts_no_more_rows(service: Service) -> None:
    assert load(service, "old", table(*ROWS[:2])).status_code == 201
    act = {"published": True, "reason": "As it was.", "override": "It was decided on another site."}
    assert service.call("organizer", "POST", "/competitions/old/publication", json=act).status_code == 201
    before = counts(service)
    refused(load(service, "old"), 409, "published")
    assert load(service, "old", table(*ROWS[:2])).json()["added"] == 0
    assert counts(service) == before


def test_an_invalid_table_adds_nothing(service: Service) -> None:
    bad = table(*ROWS, ("104", "", "", "many", 1, 0.3, 0.4, "non-mem"))
    problem = refused(load(service, "old", bad), 422, "bad-rows")
    assert problem["faults"] == ["line 6, FID_public: 'many' is not a number"]
    refused(load(service, "old", b"\xff\xfe"), 422, "no-table")
    refused(load(service, "old", column="fid_public"), 422, "bad-column")
    refused(load(service, "Not a slug"), 422, "bad-competition")
    late: Any = {"opens_at": "2019-07-02T00:00:00Z", "closes_at": "2019-07-01T00:00:00Z"}
    refused(load(service, "old", **late), 422, "bad-competition")
    refused(load(service, "old", public_extractor="none"), 422, "unknown-extractor")
    refused(load(service, "old", tau_public="nan"), 422, "bad-request")
    assert set(counts(service).values()) == {0}
    refused(load(service, "old", who="ada"), 403, "wrong-role")


def test_a_competition_with_entries_accepts_no_table(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    refused(load(service, slug), 409, "has-entries")


def test_an_entry_without_a_zip_works_everywhere(service: Service) -> None:
    load(service, "old", closes_at="2019-08-01T00:00:00Z", opens_at="2019-07-01T00:00:00Z")
    board = service.call("organizer", "GET", "/competitions/old/leaderboard").json()
    entry = board["entries"][0]["submission_id"]
    seen = service.call("organizer", "GET", f"/submissions/{entry}").json()
    assert (seen["imported"], seen["sha256"], seen["bytes"], seen["status"]) == (True, None, 0, "scored")
    assert [measurement["mifid"] for measurement in seen["measurements"]] == [20.0, 30.0]
    page = service.http.get(f"/submissions/{entry}", headers={"Authorization": "Bearer secret-of-organizer"})
    assert page.status_code == 200
    assert "imported" in page.text
    assert service.http.get(
        "/competitions/old/entries", headers={"Authorization": "Bearer secret-of-organizer"}
    ).is_success
    refused(service.call("organizer", "GET", f"/submissions/{entry}/sprite"), 404, "no-sprite")
    assert service.call("organizer", "POST", f"/submissions/{entry}/cancel").status_code == 409
    with service.context.sessions() as session, pytest.raises(Conflict) as error:
        rescore.find_recorded_submission(session, entry)
    assert error.value.slug == "imported"
    before = counts(service)
    service.run_jobs()
    assert counts(service) == before, "workers have no jobs"
    label = f"/competitions/old/submissions/{entry}/label"
    assert service.call("organizer", "PUT", label, json={"label": "aug", "note": "seen"}).is_success


def test_the_command_imports_a_file(service: Service, tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes(table().replace(b"FID_public", b"FID"))
    with serve(service.app) as address:
        words = ["competition", "import", str(path), "--competition", "old", "--column", "fid_public=FID", "--json"]
        environment = {"KENNEL_URL": address, "KENNEL_TOKEN": "secret-of-organizer"}
        done = CliRunner(env=environment).invoke(make_admin({}), words)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["added"] == 4
