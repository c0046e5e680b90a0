"""Cleanup of uploads: leftovers are removed, and a complete upload becomes a submission all the same."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scorer.db.blob_references import COLUMNS
from scorer.db.tables import AuditEntry, Table, Upload
from tests.api.conftest import Service
from tests.api.submissions.test_resumable import TUS, ZIP, begun, head, send, stored
from tests.factories import noise_images, zip_of
from worker.maintenance import cleanup

DAY = timedelta(days=1)


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition()


def later(service: Service, by: timedelta) -> None:
    """Let the worker's clock run ahead."""
    service.context.now = lambda: datetime.now(UTC) + by


def test_an_abandoned_upload_ends_and_its_bytes_go(service: Service, slug: str) -> None:
    path = begun(service, slug, Idempotency_Key="k")
    other = begun(service, slug)
    send(service, path, 0, ZIP[:50])
    later(service, DAY - timedelta(minutes=5))
    cleanup.clean_up_uploads(service.context)
    assert (len(stored(service, "uploads")), head(service, path).status_code) == (1, 200)
    later(service, DAY + timedelta(minutes=5))
    cleanup.clean_up_uploads(service.context)
    assert stored(service, "uploads") == []
    assert [head(service, each).status_code for each in (path, other)] == [404, 404]
    assert begun(service, slug, Idempotency_Key="k") != path


@pytest.mark.parametrize("end", ["done", "refused", "given up"])
def test_the_parts_of_a_closed_upload_go(service: Service, slug: str, end: str) -> None:
    content = zip_of(noise_images(1, 7)) if end == "refused" else ZIP
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


def test_a_whole_upload_whose_server_was_killed_becomes_a_submission(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = begun(service, slug)

    def killed(*_: object, **__: object) -> None:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr("scorer.submissions.upload_bytes.finalise", killed)
        with pytest.raises(InterruptedError):
            send(service, path, 0, ZIP)
    arrived = datetime.now(UTC)
    cleanup.clean_up_uploads(service.context)
    assert service.call("ada", "GET", path).json()["state"] == "finishing", "somebody may still be at it"
    later(service, timedelta(minutes=2))
    cleanup.clean_up_uploads(service.context)
    upload = service.call("ada", "GET", path).json()
    assert upload["state"] == "done"
    entry = service.call("ada", "GET", f"/submissions/{upload['submission']}").json()
    assert datetime.fromisoformat(entry["accepted_at"]) <= arrived
    assert stored(service, "uploads") == []


def test_bytes_that_belong_to_nothing_go_and_those_of_a_long_upload_stay(service: Service, slug: str) -> None:
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
    for each in (*stored(service, "uploads"), torn, whole):
        os.utime(each, (old, old))
    cleanup.remove_orphaned_blobs(service.context)
    assert stored(service, "uploads") == [part]
    assert stored(service, "submissions") == []
    with service.context.sessions() as session:
        assert session.query(Upload).one().parts == [f"uploads/{part.name}"]
    assert "kennel-submission" in send(service, path, 50, ZIP[50:]).headers


@pytest.mark.parametrize("folder", COLUMNS)
def test_what_no_row_refers_to_goes_and_what_one_does_stays(service: Service, slug: str, folder: str) -> None:
    """A web process or a worker that is killed between a blob and its row leaves the blob behind."""
    service.scored("ada", slug, noise_images(10))
    store = service.context.blobs
    store.write(f"{folder}/lost/1.bin", b"lost")
    kept = [path for path in stored(service, "") if path.is_file() and path.name != "1.bin"]
    old = (datetime.now(UTC) - cleanup.LOST_AFTER - DAY).timestamp()
    cleanup.remove_orphaned_blobs(service.context)
    assert store.exists(f"{folder}/lost/1.bin"), "its row may still come"
    for path in stored(service, ""):
        os.utime(path, (old, old))
    cleanup.remove_orphaned_blobs(service.context)
    assert [path for path in stored(service, "") if path.is_file()] == kept
    assert {"submissions", "measurements", "sprites"} <= {path.relative_to(root_of(service)).parts[0] for path in kept}


def root_of(service: Service) -> Path:
    """The folder of the blob store."""
    return Path(service.context.settings.blob_url.removeprefix("file://"))


def test_every_stored_key_is_named_by_a_column() -> None:
    """A new column that refers to blobs is one of those whose blobs are kept."""
    columns = {f"{table.name}.{column.name}" for table in Table.metadata.sorted_tables for column in table.columns}
    referring = {name for name in columns if name.endswith(("blob_key", "sprite_key", "artifact_key", "arrays_key"))}
    assert referring == {f"{column.class_.__tablename__}.{column.key}" for column in COLUMNS.values()}


def test_what_is_long_over_is_removed_and_the_log_of_acts_stays(service: Service, slug: str) -> None:
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
