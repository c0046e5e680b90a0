"""Data releases: their contents and permissions; equal states give equal bytes."""

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
from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service
from tests.api.import_export.files import content, release
from tests.factories import make_zip, noise_images
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
    """Return a zip of PNGs with the author's name in text chunks."""
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
    """Create a closed competition with entries of three teams, a rejected entry, a benchmark, reviews and a ruling."""
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
    service.submit("bob", slug, make_zip(noise_images(12, 8, 15)))
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


cached, service = cached_fixtures(closed_competition)


@pytest.fixture
def slug(cached: CachedState[str]) -> str:
    return cached.result


def test_a_release_has_the_tables_and_no_personal_data(service: Service, slug: str) -> None:
    made = release(service, slug, images="all")
    require_columns_and_rows(service, slug, made)
    require_anonymity(service, slug, made)
    require_data_card(service, slug, made)


def require_columns_and_rows(service: Service, slug: str, made: Any) -> None:
    released = tables(service, slug, made)
    for name, columns in TABLES.items():
        schema = pq.read_schema(io.BytesIO(content(service, slug, made, f"{name}.parquet")))
        assert schema.names == [column.name for column in columns], name
        assert all(field.metadata[b"meaning"] for field in schema), "every column has a description"
    entries = released["submissions"]
    assert [entry["status"] for entry in entries] == ["scored", "scored", "scored", "scored", "rejected"]
    assert [entry["benchmark"] for entry in entries] == [False, False, False, True, False]
    ada, bob, eve, line, rejected = entries
    assert (ada["label"], ada["ruling"], bob["label"], bob["ruling"]) == ("aug", "keep", None, None)
    assert ada["images"] == eve["images"] != bob["images"], "equal pixels have equal hashes, even if the files differ"
    assert bob["team"] == rejected["team"] != ada["team"]

    kid_rows = [row for row in released["evidence"] if row["submission"] == ada["submission"] and row["name"] == "kid"]
    assert [(row["track"], row["counts"], row["unit"]) for row in kid_rows] == [
        ("public", True, "squared MMD"),
        ("private", True, "squared MMD"),
    ]
    findings = service.call("organizer", "GET", f"/submissions/{public_id(service)}/evidence/public").json()["findings"]
    assert kid_rows[0]["value"] == next(finding["value"] for finding in findings if finding["name"] == "kid")
    seen = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard?track=private").json()
    ranks = [rank for rank in released["ranks"] if rank["track"] == "private"]
    assert [entry["score"] for entry in ranks] == [entry["score"] for entry in seen["entries"]]
    assert [(rank["rank"], rank["medal"]) for rank in ranks] == [(1, "gold"), (2, "silver"), (3, "bronze")]
    assert {rank["track"] for rank in released["ranks"]} == {"public", "private"}
    measured = {(row["submission"], row["track"]): row for row in released["measurements"]}
    assert set(measured) == {(entry["submission"], kind) for entry in entries[:4] for kind in ("public", "private")}
    assert all(row["counts"] and sum(row["histogram_counts"]) == 8 for row in measured.values())
    assert all(row["weights_sha256"] and row["reference"] and row["device"] for row in measured.values())
    assert measured[ranks[0]["submission"], "private"]["fid"] == ranks[0]["fid"]
    assert measured[line["submission"], "public"]["tau"] == 0
    require_shown_measurements(released)
    assert [(label["source"], label["label"], label["intent"], label["counts"]) for label in released["labels"]] == [
        ("decided", "aug", None, True),
        ("review", "aug", "intended", True),
    ]
    assert [(ruling["ruling"], ruling["appealed"], ruling["granted"]) for ruling in released["rulings"]] == [
        ("keep", True, None)
    ]
    assert [(threshold["track"], threshold["method"], threshold["counts"]) for threshold in released["thresholds"]] == [
        ("public", "held_out", True),
        ("private", "held_out", True),
    ]
    assert released["thresholds"][0]["held_out_distance"] == 2 * released["thresholds"][0]["tau"]


def require_shown_measurements(released: Mapping[str, list[dict[str, Any]]]) -> None:
    """Require all measurements of shown tracks, except removed tracks."""
    shown = {(row["submission"], row["name"]): row for row in released["shown_measurements"]}
    scored = [entry["submission"] for entry in released["submissions"] if entry["status"] == "scored"]
    assert set(shown) == {(entry, name) for entry in scored for name in ("distance", "by_tau")}
    definitions = {
        (row["metric"], row["constants"], row["better"], row["reference"], row["counts"]) for row in shown.values()
    }
    assert definitions == {
        ("memorization_distance", "{}", "higher", "public", True),
        ("mifid", '{"epsilon": 1e-15, "tau": 0.25}', "lower", "private", True),
    }
    for row in released["measurements"]:
        if row["track"] == "public":
            shown_row = shown[row["submission"], "distance"]
            assert (shown_row["value"], shown_row["standard_error"]) == (
                row["memorization_distance"],
                row["distance_se"],
            )
            assert shown_row["weights_sha256"] == row["weights_sha256"]


def require_anonymity(service: Service, slug: str, made: Any) -> None:
    """Require that the release contains no names and no text that people wrote."""
    everything = b"".join(content(service, slug, made, file["name"]) for file in made["files"])
    plain = everything + json.dumps(tables(service, slug, made), default=str).encode()
    names = [file["name"] for file in made["files"] if file["name"].startswith("images/")]
    assert len(names) == 4
    for name in names:
        with zipfile.ZipFile(io.BytesIO(content(service, slug, made, name))) as archive:
            assert archive.namelist() == [f"{number:05}.png" for number in range(8)]
            plain += b"".join(archive.read(member) for member in archive.namelist())
    assert not [word for word in SECRETS if word.encode() in plain.lower()]
    card, manifest = (content(service, slug, made, name) for name in ("README.md", "manifest.json"))
    plain_text = json.dumps(tables(service, slug, made), default=str).encode() + card + manifest
    plain_text += content(service, slug, made, "croissant.json")
    assert re.findall(rb"\b(ada|bob|eve|organizer|admin)\b", plain_text.lower()) == []
    with service.context.sessions() as session:
        key = session.get_one(Release, made["id"]).key
        team = session.query(Team).filter_by(name="Ada").one()
        ids = [entry.id for entry in session.query(Submission)]
    assert not [secret for secret in (*ids, key.hex()) if secret.encode() in plain]
    expected = "t-" + hmac.new(key, f"team:{team.id}".encode(), hashlib.sha256).hexdigest()[:20]
    assert tables(service, slug, made)["submissions"][0]["team"] == expected


def require_images_of_the_entry(service: Service, slug: str, made: Any) -> None:
    first = tables(service, slug, made)["submissions"][0]["submission"]
    packed = content(service, slug, made, f"images/{first}.zip")
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        pixels = [Image.open(io.BytesIO(archive.read(name))).tobytes() for name in archive.namelist()]
    assert sorted(pixels) == sorted(image.tobytes() for image in noise_images(10))
    assert len([file for file in made["files"] if file["name"].startswith("images/")]) == 3, (
        "the benchmark entry has no rank"
    )


def test_equal_states_give_equal_bytes_and_hashes(service: Service, slug: str) -> None:
    first, second = (release(service, slug, images="ranked") for _ in range(2))
    require_images_of_the_entry(service, slug, first)
    assert first["id"] != second["id"]
    assert (first["sha256"], first["files"]) == (second["sha256"], second["files"])
    for file in first["files"]:
        data = content(service, slug, first, file["name"])
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file["bytes"], file["sha256"])
    manifest = json.loads(content(service, slug, first, "manifest.json"))
    listed = {file["name"]: file["sha256"] for file in manifest["files"]}
    assert listed == {
        file["name"]: file["sha256"] for file in first["files"] if file["name"] not in {"manifest.json", "tables.zip"}
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
    renamed, before = (tables(service, slug, made)["submissions"] for made in (other, first))
    assert not {entry["team"] for entry in renamed} & {entry["team"] for entry in before}
    body = {"method": "manual", "tau": 0.001, "reason": "a changed state"}
    service.call("organizer", "POST", f"/competitions/{slug}/tracks/private/thresholds", json=body)
    assert release(service, slug, images="ranked")["sha256"] != other["sha256"]
    require_count_of_missing_zips(service, slug)


def test_a_preempted_release_resumes(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job yields before each entry, and its turn is one entry. It packs no entry twice and loses no attempt."""
    undisturbed = release(service, slug, images="ranked")
    packed: list[str] = []
    yields: list[str] = []
    repack = release_job._store_repacked

    def preemptible(*_: Any) -> Any:
        def progress(stage: str, fraction: float) -> None:
            if stage == "images" and len(yields) <= len(packed):
                yields.append(stage)
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
    assert sorted(packed) == sorted(file["name"] for file in made["files"] if file["name"].startswith("images/"))
    assert len(yields) == len(packed) + 1 == 4
    with service.context.sessions() as session:
        assert session.query(Job).filter_by(release_id=made["id"]).one().attempts == 1


def public_id(service: Service) -> str:
    """Return the id of Ada's entry."""
    with service.context.sessions() as session:
        return session.query(Submission).filter_by(file_name="zebra.zip").one().id


def require_data_card(service: Service, slug: str, made: Any) -> None:
    card = content(service, slug, made, "README.md").decode()
    rows = tables(service, slug, made)
    for name, table in rows.items():
        assert f"| {name}.parquet | {len(table)} |" in card
    assert "3 teams." in card
    assert "Entries by status: rejected 1, scored 4." in card
    assert "Scored entries by decided label: aug 1, not reviewed 2." in card
    assert "Images of all scored entries (4 entries)" in card
    tau = [threshold["tau"] for threshold in rows["thresholds"] if threshold["track"] == "private"][-1]
    assert f"| private | tiny@1 | {tau:.6g} |" in card
    for columns in TABLES.values():
        assert all(f"| {column.name} |" in card for column in columns)


def require_count_of_missing_zips(service: Service, slug: str) -> None:
    with service.context.sessions() as session:
        key = session.query(Submission).filter_by(file_name="zebra.zip").one().blob_key
    assert key
    service.context.blobs.delete(key)
    made = release(service, slug, images="ranked")
    card = content(service, slug, made, "README.md").decode()
    assert "(2 entries; 1 more have no stored images)" in card
    assert len([file for file in made["files"] if file["name"].startswith("images/")]) == 2


def test_permissions_and_repetition_of_releases(service: Service, slug: str) -> None:
    made = release(service, slug)
    require_range_requests(service, slug, made)
    require_public_access_after_publication(service, slug, made)
    require_one_release_at_a_time(service, slug)


def require_public_access_after_publication(service: Service, slug: str, made: Any) -> None:
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


def require_range_requests(service: Service, slug: str, made: Any) -> None:
    path = f"/competitions/{slug}/releases/{made['id']}/files/submissions.parquet"
    whole = content(service, slug, made, "submissions.parquet")
    answer = service.call("organizer", "GET", path, headers={"Range": "bytes=4-19"})
    assert (answer.status_code, answer.content) == (206, whole[4:20])
    assert answer.headers["content-range"] == f"bytes 4-19/{len(whole)}"
    tail = service.call("organizer", "GET", path, headers={"Range": "bytes=-4"})
    assert tail.content == b"PAR1"
    known = {"If-None-Match": answer.headers["etag"]}
    assert service.call("organizer", "GET", path, headers=known).status_code == 304


def require_one_release_at_a_time(service: Service, slug: str) -> None:
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


def test_a_release_reports_progress_and_allows_long_statements(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of a million rows takes longer than a job may run without progress. Its query has a longer timeout."""
    reported: list[tuple[str, float]] = []
    limits: set[str] = set()
    heartbeat, read_rows = Heartbeat.__call__, release_tables.table_rows

    def report(self: Heartbeat, stage: str, fraction: float) -> None:
        reported.append((stage, fraction))
        heartbeat(self, stage, fraction)

    def read_rows_with_limit(session: Session, *arguments: Any, **named: Any) -> Any:
        limits.add(session.scalar(text("SHOW statement_timeout")) or "")
        return read_rows(session, *arguments, **named)

    monkeypatch.setattr(Heartbeat, "__call__", report)
    monkeypatch.setattr(release_job, "table_rows", read_rows_with_limit)
    for module in (release_job, parquet):
        monkeypatch.setattr(module, "ROW_GROUP_SIZE", 2)
    release(service, slug)
    shares = [share for stage, share in reported if stage == "tables"]
    assert sorted(set(shares)) == shares, "each group of rows reports progress"
    of_submissions = [share for share in shares if share < 1 / len(TABLES)]
    assert len(of_submissions) == 1 + 3, "five rows in groups of two"
    assert shares[-1] < 1
    assert limits == {"9min"}
    with service.context.sessions() as session:
        assert session.scalar(text("SHOW statement_timeout")) == "1min", "only this transaction has the longer timeout"
