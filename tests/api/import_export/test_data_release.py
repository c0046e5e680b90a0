"""Data releases: their contents, who may download them, and that equal states give equal bytes."""

import hashlib
import hmac
import io
import json
import re
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet as pq
import pytest
from PIL import Image, PngImagePlugin
from sqlalchemy import text
from sqlalchemy.orm import Session

from scorer.db.tables import Account, AuditEntry, Job, Rebuttal, Release, Review, Ruling, Submission, Team
from scorer.import_export import release_tables
from scorer.import_export.release_columns import TABLES
from tests.api.conftest import Service
from tests.api.import_export.files import content, release
from tests.api.kept_state import KeptState, kept_fixtures
from tests.factories import noise_images, zip_of
from worker.exports import data_release as release_job
from worker.exports import parquet
from worker.runtime.heartbeat import Heartbeat
from worker.runtime.preemption import Preempted

SHOWN_TRACKS: Mapping[str, dict[str, Any]] = {
    "distance": {"metric": "memorization_distance", "extractor": "tiny", "visibility": "everybody"},
    "by_tau": {"metric": "mifid", "extractor": "tiny", "constants": {"tau": 0.25}, "reference": "private"},
    "removed": {"metric": "kid", "extractor": "tiny"},
}
SECRETS = (
    "secret",
    "example.org",
    "my very own note",
    "zebra.zip",
    "because I say so",
    "signed by",
)


def tables(service: Service, slug: str, made: Any) -> dict[str, list[dict[str, Any]]]:
    return {
        name: pq.read_table(io.BytesIO(content(service, slug, made, f"{name}.parquet"))).to_pylist() for name in TABLES
    }


def with_texts(images: Any) -> bytes:
    """A zip of PNGs whose text chunks name their author."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number, image in enumerate(images):
            metadata = PngImagePlugin.PngInfo()
            file = io.BytesIO()
            metadata.add_text("Author", "signed by ada")
            Image.fromarray(image).save(file, "PNG", pnginfo=metadata)
            archive.writestr(f"ada-{number}.png", file.getvalue())
    return buffer.getvalue()


def closed_competition(service: Service) -> str:
    """A competition that has closed, with entries of three teams, a rejected one, reviews and a ruling."""
    slug = service.competition(medals={"gold": 1, "silver": 2, "bronze": 3})
    for name, body in SHOWN_TRACKS.items():
        shown = service.call("organizer", "POST", f"/competitions/{slug}/shown-tracks", json={"name": name, **body})
        assert shown.status_code == 201, shown.text
    first = service.submit(
        "ada", slug, with_texts(noise_images(10)), note="my very own note", file_name="zebra.zip"
    ).json()
    service.scored("bob", slug, noise_images(11))
    service.scored("eve", slug, noise_images(10), note="the same images as Ada's")
    service.scored("organizer", slug, noise_images(2), benchmark="Held-out")
    service.submit("bob", slug, zip_of(noise_images(12, 8, 15)))
    service.run_jobs(evidence=True)
    assert service.call("organizer", "DELETE", f"/competitions/{slug}/shown-tracks/removed").status_code == 204
    body = {"label": "aug", "note": "my very own note"}
    service.call("organizer", "PUT", f"/competitions/{slug}/submissions/{first['id']}/label", json=body)
    with service.context.sessions.begin() as session:
        now = datetime.now(UTC)
        entry = session.query(Submission).filter_by(id=first["id"]).one()
        person = session.query(Account).filter_by(handle="bob").one()
        person.email = "bob@example.org"
        fields = {"submission_ref": entry.ref, "created_at": now}
        session.add(Review(**fields, reviewer_id=person.id, label="aug", intent="intended", note="my very own note"))
        ruling = Ruling(**fields, kind="keep", reason="because I say so", author_id=person.id)
        session.add(ruling)
        session.flush()
        session.add(
            Rebuttal(**fields, ruling_id=ruling.id, team_id=entry.team_id, author_id=person.id, text="because I say so")
        )
    service.close(slug)
    return slug


kept, service = kept_fixtures(closed_competition)


@pytest.fixture
def slug(kept: KeptState[str]) -> str:
    """The competition."""
    return kept.result


def test_what_is_in_it_and_what_is_not(service: Service, slug: str) -> None:
    made = release(service, slug, images="all")
    has_all_columns_and_true_rows(service, slug, made)
    names_nobody(service, slug, made)
    contains_its_own_figures(service, slug, made)


def has_all_columns_and_true_rows(service: Service, slug: str, made: Any) -> None:
    released = tables(service, slug, made)
    for name, columns in TABLES.items():
        schema = pq.read_schema(io.BytesIO(content(service, slug, made, f"{name}.parquet")))
        assert schema.names == [column.name for column in columns], name
        assert all(field.metadata[b"meaning"] for field in schema), "every column says what it means"
    entries = released["submissions"]
    assert [each["status"] for each in entries] == ["scored", "scored", "scored", "scored", "rejected"]
    assert [each["benchmark"] for each in entries] == [False, False, False, True, False]
    ada, bob, eve, line, rejected = entries
    assert (ada["label"], ada["ruling"], bob["label"], bob["ruling"]) == ("aug", "keep", None, None)
    assert ada["images"] == eve["images"] != bob["images"], "the same pixels, whatever the file says"
    assert bob["team"] == rejected["team"] != ada["team"]

    kid_rows = [
        each for each in released["evidence"] if each["submission"] == ada["submission"] and each["name"] == "kid"
    ]
    assert [(each["track"], each["counts"], each["unit"]) for each in kid_rows] == [
        ("public", True, "squared MMD"),
        ("private", True, "squared MMD"),
    ]
    findings = service.call("organizer", "GET", f"/submissions/{public_id(service)}/evidence/public").json()["findings"]
    assert kid_rows[0]["value"] == next(each["value"] for each in findings if each["name"] == "kid")
    seen = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private").json()
    ranks = [each for each in released["ranks"] if each["track"] == "private"]
    assert [each["score"] for each in ranks] == [each["score"] for each in seen["entries"]]
    assert [(each["rank"], each["medal"]) for each in ranks] == [(1, "gold"), (2, "silver"), (3, "bronze")]
    assert {each["track"] for each in released["ranks"]} == {"public", "private"}
    measured = {(each["submission"], each["track"]): each for each in released["measurements"]}
    assert set(measured) == {(each["submission"], kind) for each in entries[:4] for kind in ("public", "private")}
    assert all(each["counts"] and sum(each["histogram_counts"]) == 8 for each in measured.values())
    assert all(each["weights_sha256"] and each["reference"] and each["device"] for each in measured.values())
    assert measured[ranks[0]["submission"], "private"]["fid"] == ranks[0]["fid"]
    assert measured[line["submission"], "public"]["tau"] == 0
    has_the_numbers_beside_the_score(released)
    assert [(each["source"], each["label"], each["intent"], each["counts"]) for each in released["labels"]] == [
        ("decided", "aug", None, True),
        ("review", "aug", "intended", True),
    ]
    assert [(each["ruling"], each["appealed"], each["granted"]) for each in released["rulings"]] == [
        ("keep", True, None)
    ]
    assert [(each["track"], each["method"], each["counts"]) for each in released["thresholds"]] == [
        ("public", "held_out", True),
        ("private", "held_out", True),
    ]
    assert released["thresholds"][0]["held_out_distance"] == 2 * released["thresholds"][0]["tau"]


def has_the_numbers_beside_the_score(released: Mapping[str, list[dict[str, Any]]]) -> None:
    """All that was measured on shown tracks, but on those that were removed."""
    shown = {(each["submission"], each["name"]): each for each in released["shown_measurements"]}
    scored = [each["submission"] for each in released["submissions"] if each["status"] == "scored"]
    assert set(shown) == {(entry, name) for entry in scored for name in ("distance", "by_tau")}
    terms = {
        (each["metric"], each["constants"], each["better"], each["reference"], each["counts"])
        for each in shown.values()
    }
    assert terms == {
        ("memorization_distance", "{}", "higher", "public", True),
        ("mifid", '{"epsilon": 1e-15, "tau": 0.25}', "lower", "private", True),
    }
    for each in released["measurements"]:
        if each["track"] == "public":
            beside = shown[each["submission"], "distance"]
            assert (beside["value"], beside["standard_error"]) == (each["memorization_distance"], each["distance_se"])
            assert beside["weights_sha256"] == each["weights_sha256"]


def names_nobody(service: Service, slug: str, made: Any) -> None:
    """The release contains no name and no text written by people."""
    everything = b"".join(content(service, slug, made, each["name"]) for each in made["files"])
    plain = everything + json.dumps(tables(service, slug, made), default=str).encode()
    names = [each["name"] for each in made["files"] if each["name"].startswith("images/")]
    assert len(names) == 4
    for name in names:
        with zipfile.ZipFile(io.BytesIO(content(service, slug, made, name))) as archive:
            assert archive.namelist() == [f"{number:05}.png" for number in range(8)]
            plain += b"".join(archive.read(each) for each in archive.namelist())
    assert not [word for word in SECRETS if word.encode() in plain.lower()]
    card, manifest = (content(service, slug, made, name) for name in ("README.md", "manifest.json"))
    plain_text = json.dumps(tables(service, slug, made), default=str).encode() + card + manifest
    plain_text += content(service, slug, made, "croissant.json")
    assert re.findall(rb"\b(ada|bob|eve|organizer|admin)\b", plain_text.lower()) == []
    with service.context.sessions() as session:
        key = session.get_one(Release, made["id"]).key
        team = session.query(Team).filter_by(name="Ada").one()
        ids = [entry.id for entry in session.query(Submission)]
    assert not [each for each in (*ids, key.hex()) if each.encode() in plain]
    expected = "t-" + hmac.new(key, f"team:{team.id}".encode(), hashlib.sha256).hexdigest()[:20]
    assert tables(service, slug, made)["submissions"][0]["team"] == expected


def has_the_entrys_own_images(service: Service, slug: str, made: Any) -> None:
    first = tables(service, slug, made)["submissions"][0]["submission"]
    packed = content(service, slug, made, f"images/{first}.zip")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        pixels = [Image.open(io.BytesIO(archive.read(name))).tobytes() for name in archive.namelist()]
    assert sorted(pixels) == sorted(image.tobytes() for image in noise_images(10))
    assert len([each for each in made["files"] if each["name"].startswith("images/")]) == 3, "no benchmark is ranked"


def test_equal_states_give_equal_bytes_and_hashes_are_true(service: Service, slug: str) -> None:
    first, second = (release(service, slug, images="ranked") for _ in range(2))
    has_the_entrys_own_images(service, slug, first)
    assert first["id"] != second["id"]
    assert (first["sha256"], first["files"]) == (second["sha256"], second["files"])
    for each in first["files"]:
        data = content(service, slug, first, each["name"])
        assert (len(data), hashlib.sha256(data).hexdigest()) == (each["bytes"], each["sha256"])
    manifest = json.loads(content(service, slug, first, "manifest.json"))
    listed = {each["name"]: each["sha256"] for each in manifest["files"]}
    assert listed == {
        each["name"]: each["sha256"] for each in first["files"] if each["name"] not in {"manifest.json", "tables.zip"}
    }
    with zipfile.ZipFile(io.BytesIO(content(service, slug, first, "tables.zip"))) as archive:
        assert set(archive.namelist()) == {
            *(f"{name}.parquet" for name in TABLES),
            "README.md",
            "croissant.json",
            "manifest.json",
        }
        assert archive.read("manifest.json") == content(service, slug, first, "manifest.json")
    other = release(service, slug, images="ranked", new_names=True)
    assert other["sha256"] != first["sha256"]
    renamed, before = (tables(service, slug, each)["submissions"] for each in (other, first))
    assert not {each["team"] for each in renamed} & {each["team"] for each in before}
    body = {"method": "manual", "tau": 0.001, "reason": "another state"}
    service.call("organizer", "POST", f"/competitions/{slug}/tracks/private/thresholds", json=body)
    assert release(service, slug, images="ranked")["sha256"] != other["sha256"]
    an_entry_without_a_stored_zip_is_counted(service, slug)


def test_a_release_goes_on_where_it_gave_way(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives way before each entry and has a turn of one entry: no entry is packed twice, and no attempt is lost."""
    undisturbed = release(service, slug, images="ranked")
    packed: list[str] = []
    gave_way: list[str] = []
    repack = release_job._store_repacked

    def preemptible(*_: Any) -> Any:
        def progress(stage: str, fraction: float) -> None:
            if stage == "images" and len(gave_way) <= len(packed):
                gave_way.append(stage)
                raise Preempted

        return progress

    def packs(*arguments: Any, **named: Any) -> Any:
        description = repack(*arguments, **named)
        packed.append(named["name"])
        return description

    monkeypatch.setattr(release_job, "preemptible", preemptible)
    monkeypatch.setattr(release_job, "_store_repacked", packs)
    monkeypatch.setattr(release_job, "TURN_SHARE", 0.0)
    made = release(service, slug, images="ranked")
    assert (made["sha256"], made["files"]) == (undisturbed["sha256"], undisturbed["files"])
    assert sorted(packed) == sorted(each["name"] for each in made["files"] if each["name"].startswith("images/"))
    assert len(gave_way) == len(packed) + 1 == 4
    with service.context.sessions() as session:
        assert session.query(Job).filter_by(release_id=made["id"]).one().attempts == 1


def public_id(service: Service) -> str:
    """Of Ada's entry."""
    with service.context.sessions() as session:
        return session.query(Submission).filter_by(file_name="zebra.zip").one().id


def contains_its_own_figures(service: Service, slug: str, made: Any) -> None:
    card = content(service, slug, made, "README.md").decode()
    rows = tables(service, slug, made)
    for name, table in rows.items():
        assert f"| {name}.parquet | {len(table)} |" in card
    assert "3 teams." in card
    assert "Entries by status: rejected 1, scored 4." in card
    assert "Scored entries by decided label: aug 1, not reviewed 2." in card
    assert "Images of all scored entries (4 entries)" in card
    tau = [each["tau"] for each in rows["thresholds"] if each["track"] == "private"][-1]
    assert f"| private | tiny@1 | {tau:.6g} |" in card
    for columns in TABLES.values():
        assert all(f"| {column.name} |" in card for column in columns)


def an_entry_without_a_stored_zip_is_counted(service: Service, slug: str) -> None:
    with service.context.sessions() as session:
        key = session.query(Submission).filter_by(file_name="zebra.zip").one().blob_key
    assert key
    service.context.blobs.delete(key)
    made = release(service, slug, images="ranked")
    card = content(service, slug, made, "README.md").decode()
    assert "(2 entries; 1 more have no stored images)" in card
    assert len([each for each in made["files"] if each["name"].startswith("images/")]) == 2


def test_who_may_have_it(service: Service, slug: str) -> None:
    made = release(service, slug)
    a_part_of_a_file_can_be_asked_for(service, slug, made)
    is_for_everybody_once_published(service, slug, made)
    one_is_made_at_a_time_and_tried_again(service, slug)


def is_for_everybody_once_published(service: Service, slug: str, made: Any) -> None:
    where = f"/competitions/{slug}/releases"
    file, hand = f"{where}/{made['id']}/files/ranks.parquet", f"{where}/{made['id']}/handed-out"

    def statuses(who: str | None) -> tuple[int, int, int]:
        response = service.call(who, "GET", where)
        one, data = (service.call(who, "GET", path).status_code for path in (f"{where}/{made['id']}", file))
        return len(response.json().get("releases", ())), one, data

    for who in (None, "ada"):
        assert service.call(who, "POST", where, json={}).status_code == (401 if who is None else 403)
        assert service.call(who, "PUT", hand, json={"shown": True}).status_code == (401 if who is None else 403)
        assert statuses(who) == (0, 404, 404)
    assert statuses("organizer") == (1, 200, 200)
    assert service.call("organizer", "PUT", hand, json={"shown": True}).json()["shown"] is True
    assert service.call("organizer", "PUT", hand, json={"shown": True}).status_code == 409
    assert statuses(None) == (0, 404, 404), "the board is not published"
    service.publish(slug)
    assert statuses(None) == statuses("ada") == (1, 200, 200)
    service.publish(slug, published=False)
    assert statuses("ada") == (0, 404, 404)
    service.publish(slug)
    assert service.call("organizer", "PUT", hand, json={"shown": False}).json()["shown"] is False
    assert statuses(None) == (0, 404, 404)
    other = service.competition()
    assert service.call("organizer", "GET", f"/competitions/{other}/releases/{made['id']}").status_code == 404
    assert service.call("organizer", "GET", f"{where}/{made['id']}/files/../secrets").status_code == 404
    with service.context.sessions() as session:
        acts = session.query(AuditEntry).filter(AuditEntry.action.like("release.%")).order_by(AuditEntry.id)
        assert [act.action for act in acts] == ["release.started", "release.handed-out", "release.taken-back"]
        assert all(act.subject == f"release:{slug}/{made['id']}" for act in acts)


def a_part_of_a_file_can_be_asked_for(service: Service, slug: str, made: Any) -> None:
    path = f"/competitions/{slug}/releases/{made['id']}/files/submissions.parquet"
    whole = content(service, slug, made, "submissions.parquet")
    answer = service.call("organizer", "GET", path, headers={"Range": "bytes=4-19"})
    assert (answer.status_code, answer.content) == (206, whole[4:20])
    assert answer.headers["content-range"] == f"bytes 4-19/{len(whole)}"
    tail = service.call("organizer", "GET", path, headers={"Range": "bytes=-4"})
    assert tail.content == b"PAR1"
    known = {"If-None-Match": answer.headers["etag"]}
    assert service.call("organizer", "GET", path, headers=known).status_code == 304


def one_is_made_at_a_time_and_tried_again(service: Service, slug: str) -> None:
    where = f"/competitions/{slug}/releases"
    asked = service.call("organizer", "POST", where, json={}).json()
    again = service.call("organizer", "POST", where, json={})
    assert (again.status_code, again.json()["type"]) == (409, "urn:kennel:problem:release-running")
    with service.context.sessions.begin() as session:
        job = session.query(Job).filter_by(release_id=asked["id"]).one()
        job.state = "failed"
        job.error = "the disk was full"
        job.finished_at = datetime.now(UTC)
        job_id = job.id
    seen = service.call("organizer", "GET", f"{where}/{asked['id']}").json()
    assert (seen["state"], seen["error"]) == ("failed", "the disk was full")
    assert service.call("admin", "POST", "/admin/jobs/requeue", json={"job": job_id}).json() == {"requeued": 1}
    service.run_jobs()
    assert service.call("organizer", "GET", f"{where}/{asked['id']}").json()["state"] == "done"


def test_a_release_reports_progress_in_tables_and_has_long_statements(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of a million rows takes longer than a job may take without progress, and its query than others may."""
    reported: list[tuple[str, float]] = []
    limits: set[str] = set()
    heartbeat, read_rows = Heartbeat.__call__, release_tables.table_rows

    def report(self: Heartbeat, stage: str, fraction: float) -> None:
        reported.append((stage, fraction))
        heartbeat(self, stage, fraction)

    def rows_of(session: Session, *arguments: Any, **named: Any) -> Any:
        limits.add(session.scalar(text("SHOW statement_timeout")) or "")
        return read_rows(session, *arguments, **named)

    monkeypatch.setattr(Heartbeat, "__call__", report)
    monkeypatch.setattr(release_job, "table_rows", rows_of)
    for module in (release_job, parquet):
        monkeypatch.setattr(module, "ROW_GROUP_SIZE", 2)
    release(service, slug)
    shares = [share for stage, share in reported if stage == "tables"]
    assert sorted(set(shares)) == shares, "each group of rows moves it"
    of_submissions = [share for share in shares if share < 1 / len(TABLES)]
    assert len(of_submissions) == 1 + 3, "five rows in groups of two"
    assert shares[-1] < 1
    assert limits == {"9min"}
    with service.context.sessions() as session:
        assert session.scalar(text("SHOW statement_timeout")) == "1min", "of that transaction alone"
