"""Cleanup: leftovers are deleted, and complete uploads become submissions."""

import errno
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from api.http.problem_details import FULL_DISK_SECONDS
from scorer.archive.reference_set import NAMES_FILE
from scorer.blobs.blob_writer import StagedFile
from scorer.db.blob_references import COLUMNS, FOLDERS
from scorer.db.tables import (
    AuditEntry,
    CompetitionReference,
    Job,
    ReferenceSet,
    Release,
    Submission,
    Table,
    Track,
    Upload,
)
from tests.api.conftest import Service, refused
from tests.api.submissions.tus import TUS, ZIP, begun, head, later, leave_whole, send, stored
from tests.factories import make_zip, noise_images, with_a_wrong_image
from worker.maintenance import cleanup
from worker.maintenance.cleanup import remove_refused_zips

DAY = timedelta(days=1)


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition()


def test_an_abandoned_upload_ends_and_its_bytes_are_deleted(service: Service, slug: str) -> None:
    path = begun(service, slug, Idempotency_Key="k")
    other = begun(service, slug)
    send(service, path, 0, ZIP[:50])
    later(service, DAY - timedelta(minutes=5))
    cleanup.clean_up_uploads(service.context)
    assert (len(stored(service, "uploads")), head(service, path).status_code) == (1, 200)
    later(service, DAY + timedelta(minutes=5))
    cleanup.clean_up_uploads(service.context)
    assert stored(service, "uploads") == []
    assert [head(service, upload).status_code for upload in (path, other)] == [404, 404]
    assert begun(service, slug, Idempotency_Key="k") != path


@pytest.mark.parametrize("end", ["done", "refused", "given up"])
def test_the_parts_of_a_closed_upload_are_deleted(service: Service, slug: str, end: str) -> None:
    content = make_zip(noise_images(1, 7)) if end == "refused" else ZIP
    path = begun(service, slug, content)
    send(service, path, 0, content[:50])
    if end == "given up":
        service.call("ada", "DELETE", path, headers=TUS)
    else:
        send(service, path, 50, content[50:])
    assert stored(service, "uploads") != []
    cleanup.clean_up_uploads(service.context)
    assert stored(service, "uploads") == []
    assert len(stored(service, "submissions")) == (end == "done")
    cleanup.clean_up_uploads(service.context)


def test_all_complete_uploads_become_submissions_in_one_round(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one upload per round, the last of two hundred would wait for more than an hour."""
    paths = [leave_whole(service, slug, monkeypatch) for _ in range(3)]
    later(service, timedelta(minutes=2))
    cleanup.clean_up_uploads(service.context)
    assert [service.call("ada", "GET", path).json()["state"] for path in paths] == ["done"] * 3


def test_a_complete_upload_of_a_killed_server_becomes_a_submission(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = leave_whole(service, slug, monkeypatch)
    arrived = datetime.now(UTC)
    cleanup.clean_up_uploads(service.context)
    assert service.call("ada", "GET", path).json()["state"] == "finishing", "a web process may still be finishing it"
    later(service, timedelta(minutes=2))
    cleanup.clean_up_uploads(service.context)
    upload = service.call("ada", "GET", path).json()
    assert upload["state"] == "done"
    entry = service.call("ada", "GET", f"/submissions/{upload['submission']}").json()
    assert datetime.fromisoformat(entry["accepted_at"]) <= arrived
    assert stored(service, "uploads") == []


@pytest.mark.parametrize(("days", "state"), [(6, "done"), (9, None)])
def test_a_complete_upload_survives_days_without_a_worker(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch, days: int, state: str | None
) -> None:
    path = leave_whole(service, slug, monkeypatch)
    later(service, days * DAY)
    cleanup.clean_up_uploads(service.context)
    assert service.call("ada", "GET", path).json().get("state") == state


def test_partly_written_bytes_are_not_recorded(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = begun(service, slug)
    send(service, path, 0, ZIP[:50])
    add = StagedFile.add

    def full_for_a_moment(file: StagedFile, data: bytes | bytearray) -> None:
        add(file, data[:20])
        monkeypatch.setattr(StagedFile, "add", add)
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr("scorer.blobs.blob_writer.MEMORY_BYTES", 100)
    monkeypatch.setattr(StagedFile, "add", full_for_a_moment)
    refused(send(service, path, 50, ZIP[50:]), 507, "disk-full")
    offset = int(head(service, path).headers["Upload-Offset"])
    assert send(service, path, offset, ZIP[offset:]).status_code == 204
    assert service.call("ada", "GET", path).json()["state"] == "done"


def test_an_upload_becomes_a_submission_when_the_disk_has_space(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = begun(service, slug)
    add = StagedFile.add

    def full(file: StagedFile, data: bytes | bytearray) -> None:
        if file.path.parent.name == "submissions":
            raise OSError(errno.ENOSPC, "no room")
        add(file, data)

    with monkeypatch.context() as patch:
        patch.setattr(StagedFile, "add", full)
        answer = send(service, path, 0, ZIP)
        refused(answer, 507, "disk-full")
        assert answer.headers["Retry-After"] == str(FULL_DISK_SECONDS)
        later(service, timedelta(minutes=2))
        cleanup.clean_up_uploads(service.context)
    assert stored(service, "submissions") == []
    later(service, timedelta(minutes=4))
    cleanup.clean_up_uploads(service.context)
    assert service.call("ada", "GET", path).json()["state"] == "done"


def test_orphaned_bytes_are_deleted_and_those_of_long_uploads_stay(service: Service, slug: str) -> None:
    path = begun(service, slug)
    send(service, path, 0, ZIP[:50])
    (part,) = stored(service, "uploads")
    store = service.context.blobs
    store.write("uploads/gone.0000000000000.w", b"1")
    torn = part.parents[1] / "submissions" / "killed.zip#1"
    torn.parent.mkdir(exist_ok=True)
    torn.write_bytes(b"half a zip")
    whole = torn.with_name("whole.zip")
    whole.write_bytes(b"a zip")
    cleanup.remove_orphaned_blobs(service.context)
    assert len(stored(service, "uploads")) == 2
    assert torn.exists()
    old = (datetime.now(UTC) - cleanup.LOST_AFTER - DAY).timestamp()
    for blob in (*stored(service, "uploads"), torn, whole):
        os.utime(blob, (old, old))
    cleanup.remove_orphaned_blobs(service.context)
    assert stored(service, "uploads") == [part]
    assert stored(service, "submissions") == []
    with service.context.sessions() as session:
        assert session.query(Upload).one().parts == [f"uploads/{part.name}"]
    assert "kennel-submission" in send(service, path, 50, ZIP[50:]).headers


def test_a_rewritten_blob_stays(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A retry joins an upload's parts under the same key before its row is committed."""
    store = service.context.blobs
    store.write("submissions/again.zip", b"first")
    (path,) = stored(service, "submissions")
    old = (datetime.now(UTC) - cleanup.LOST_AFTER - DAY).timestamp()
    os.utime(path, (old, old))
    orphaned = cleanup._orphaned

    def rewritten(session: Session, folder: str, keys: list[str]) -> list[str]:
        found = orphaned(session, folder, keys)
        if folder == "submissions":
            store.write("submissions/again.zip", b"second")
        return found

    monkeypatch.setattr(cleanup, "_orphaned", rewritten)
    cleanup.remove_orphaned_blobs(service.context)
    assert store.read("submissions/again.zip") == b"second"


@pytest.mark.parametrize("folder", FOLDERS)
def test_blobs_without_a_row_are_deleted_and_others_stay(service: Service, slug: str, folder: str) -> None:
    """A web process or worker that is killed between writing a blob and its row leaves the blob behind."""
    service.scored("ada", slug, noise_images(10))
    store = service.context.blobs
    store.write(f"{folder}/lost/1/2.bin", b"lost")
    expected = [path for path in stored(service, "") if path.is_file() and path.name != "2.bin"]
    old = (datetime.now(UTC) - cleanup.LOST_AFTER - DAY).timestamp()
    cleanup.remove_orphaned_blobs(service.context)
    assert store.exists(f"{folder}/lost/1/2.bin"), "its row may follow"
    for path in stored(service, ""):
        os.utime(path, (old, old))
    cleanup.remove_orphaned_blobs(service.context)
    assert [path for path in stored(service, "") if path.is_file()] == expected
    assert {"submissions", "measurements", "sprites", "reference-images"} <= {
        path.relative_to(find_root(service)).parts[0] for path in expected
    }


def test_only_files_of_failed_releases_are_deleted(service: Service, slug: str) -> None:
    where = f"/competitions/{slug}/releases"
    finished = service.call("organizer", "POST", where, json={}).json()["id"]
    service.run_jobs()
    other = service.call("organizer", "POST", where, json={}).json()["id"]
    store = service.context.blobs
    store.write(f"releases/{finished}/of-an-earlier-attempt.parquet", b"1")
    store.write(f"releases/{other}/ranks.parquet", b"1")

    def names_after_cleanup() -> set[str]:
        old = (datetime.now(UTC) - cleanup.LOST_AFTER - DAY).timestamp()
        for path in stored(service, "releases"):
            os.utime(path, (old, old))
        cleanup.remove_orphaned_blobs(service.context)
        return {"/".join(path.parts[-2:]) for path in stored(service, "releases") if path.is_file()}

    with service.context.sessions() as session:
        files = {f"{finished}/{file['name']}" for file in session.get_one(Release, finished).files or ()}
    assert files
    assert names_after_cleanup() == {*files, f"{other}/ranks.parquet"}, "the second release is in progress"
    with service.context.sessions.begin() as session:
        job = session.query(Job).filter_by(release_id=other).one()
        job.state = "failed"
    assert names_after_cleanup() == files


def test_files_of_an_unused_reference_set_are_deleted(service: Service, slug: str) -> None:
    """The marker file is deleted first, even if it alone is not old enough. Without the other files it is wrong."""
    markers = [path for path in stored(service, "reference-images") if path.name == NAMES_FILE]
    old = (datetime.now(UTC) - cleanup.LOST_AFTER - DAY).timestamp()
    for path in stored(service, "reference-images"):
        if path not in markers:
            os.utime(path, (old, old))
    cleanup.remove_orphaned_blobs(service.context)
    assert all((marker.parent / "images.npy").exists() for marker in markers)
    with service.context.sessions.begin() as session:
        other = session.query(ReferenceSet).first()
        assert other is not None
        fields = {"bytes": 1, "blob_key": "references/other", "created_by": other.created_by}
        other = ReferenceSet(**fields, sha256="0" * 64, created_at=other.created_at)
        session.add(other)
        session.flush()
        session.query(CompetitionReference).update({"reference_set_id": other.id})
    cleanup.remove_orphaned_blobs(service.context)
    assert all((marker.parent / "images.npy").exists() for marker in markers), "tracks still use the reference set"
    with service.context.sessions.begin() as session:
        for track in session.query(Track):
            track.preparation_id = None
    cleanup.remove_orphaned_blobs(service.context)
    assert [path for path in stored(service, "reference-images") if path.is_file()] == []


def find_root(service: Service) -> Path:
    """Return the folder of the blob store."""
    return Path(service.context.settings.blob_url.removeprefix("file://"))


def test_cleanup_knows_every_column_with_blob_keys() -> None:
    """Cleanup would delete blobs of a new column that is not in ``COLUMNS``."""
    columns = {f"{table.name}.{column.name}" for table in Table.metadata.sorted_tables for column in table.columns}
    endings = ("blob_key", "sprite_key", "artifact_key", "arrays_key", "images_key")
    referring = {name for name in columns if name.endswith(endings)}
    assert referring == {f"{column.class_.__tablename__}.{column.key}" for column in COLUMNS.values()}


def test_expired_rows_are_deleted_and_the_audit_log_stays(service: Service, slug: str) -> None:
    path = begun(service, slug, Idempotency_Key="k")
    made = send(service, path, 0, ZIP).headers["kennel-submission"]
    cleanup.clean_up_uploads(service.context)
    with service.context.sessions() as session:
        acts = session.query(AuditEntry).count()
    assert acts > 0
    later(service, timedelta(days=29))
    assert not any(cleanup.remove_expired_rows(service.context).values())
    later(service, timedelta(days=service.context.settings.kept_days + 2))
    assert cleanup.remove_expired_rows(service.context)["uploads"] == 1
    with service.context.sessions() as session:
        assert session.query(AuditEntry).count() == acts
    assert service.call("ada", "GET", f"/submissions/{made}").status_code == 200
    again = service.submit("ada", slug, ZIP)
    assert again.status_code == 202


def test_zips_of_refused_entries_are_deleted_and_others_stay(service: Service) -> None:
    slug = service.competition(pending_limit=5)
    scored = service.scored("ada", slug, noise_images(1))["id"]
    rejected = service.submit("ada", slug, with_a_wrong_image(noise_images(2))).json()["id"]
    service.run_jobs()
    cancelled = service.submit("ada", slug, make_zip(noise_images(3))).json()["id"]
    assert service.call("ada", "POST", f"/submissions/{cancelled}/cancel").status_code == 200
    assert service.call("ada", "GET", f"/submissions/{rejected}").json()["status"] == "rejected"

    context = service.context
    later = context.now() + timedelta(days=context.settings.kept_days + 1)
    assert remove_refused_zips(context) == 0, "a team may still ask for the reason"
    assert remove_refused_zips(replace(context, now=lambda: later)) == 2
    assert remove_refused_zips(replace(context, now=lambda: later)) == 0
    with context.sessions() as session:
        keys = {row.id: row.blob_key for row in session.query(Submission)}
    assert keys[rejected] is None
    assert keys[cancelled] is None
    assert context.blobs.exists(keys[scored] or "")
    assert len([blob for blob in context.blobs.stored() if blob.key.startswith("submissions/")]) == 1
    assert service.call("ada", "GET", f"/submissions/{rejected}").json()["status"] == "rejected"
