"""Backups: created while the service runs, restored into another database and store, incremental, verified."""

import errno
import gzip
import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from pydantic import SecretStr
from sqlalchemy import text
from typer.testing import CliRunner, Result

import migrations
from deploy.cli import admin_backups, rescore
from deploy.standalone import data_folder
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import Servers
from deploy.standalone.unix_account import SERVICE, system_account
from scorer.backups import manifest
from scorer.backups.manifest import BackupFolder
from scorer.errors import Conflict, Invalid, NotFound, Unavailable
from scorer.settings import Settings
from tests.api.conftest import Service, running_service
from tests.conftest import empty_database
from tests.factories import noise_images
from tests.migrations.planted import planted

BOARDS: Mapping[str, Mapping[str, str]] = {
    "public": {},
    "private": {"track": "private"},
    "csv": {"format": "csv"},
}


@pytest.fixture
def new_settings(servers: Servers, settings: Settings, tmp_path: Path) -> Iterator[Settings]:
    """Settings of a new installation: an empty database and an empty blob folder."""
    with empty_database(servers) as (app_url, owner_url):
        yield settings.model_copy(
            update={
                "database_url": SecretStr(app_url),
                "database_owner_url": SecretStr(owner_url),
                "blob_url": (tmp_path / "new-blobs").as_uri(),
                "scratch": tmp_path / "new-scratch",
            }
        )


@pytest.fixture
def kennel(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs ``kennel admin`` with the given settings instead of the environment's."""

    def run(settings: Settings, *arguments: object) -> Result:
        monkeypatch.setattr(data_folder, "load_settings", lambda _: settings)
        result = CliRunner().invoke(admin_backups.app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


def judged_competition(service: Service) -> str:
    """Create a competition with three entries and a chosen tau."""
    slug = service.competition()
    for number, who in enumerate(("ada", "bob", "eve")):
        entry = service.scored(who, slug, noise_images(20 + number), note="ä\t\\N\nbackslash")
        assert entry["status"] == "scored"
    path = f"/competitions/{slug}/tracks/public/thresholds"
    body = {"method": "manual", "tau": 0.2, "reason": "first\\tau"}
    assert service.call("organizer", "POST", path, json=body).status_code == 201
    return slug


def fetch_boards(service: Service, slug: str) -> dict[str, bytes]:
    """Return the bytes of every board."""
    answers = {
        name: service.call("organizer", "GET", f"/competitions/{slug}/leaderboard", params=dict(query))
        for name, query in BOARDS.items()
    }
    assert {answer.status_code for answer in answers.values()} == {200}
    return {name: answer.content for name, answer in answers.items()}


def stored_blobs(folder: Path) -> set[str]:
    return {path.name for path in (folder / "blobs").glob("*/*")}


@pytest.mark.parametrize("store", ["file", "s3"])
def test_a_restored_installation_has_the_same_boards_and_works(
    service: Service,
    new_settings: Settings,
    kennel: Any,
    store: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    slug = judged_competition(service)
    before = fetch_boards(service, slug)
    entries = service.call("organizer", "GET", f"/competitions/{slug}/leaderboard").json()["entries"]
    folder = tmp_path / "backups"
    made = kennel(service.context.settings, "backup", folder)
    assert made.exit_code == 0, made.output
    assert kennel(new_settings, "verify-backup", folder).exit_code == 0
    if store == "s3":
        values = {"ENDPOINT": request.getfixturevalue("s3"), "ALLOW_HTTP": "true", "REGION": "us-east-1"}
        for name, value in {**values, "ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret"}.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        new_settings = new_settings.model_copy(update={"blob_url": f"s3://kennel/{tmp_path.name}"})
    restored = kennel(new_settings, "restore", folder)
    assert restored.exit_code == 0, restored.output
    with running_service(new_settings) as other:
        assert fetch_boards(other, slug) == before
        monkeypatch.setattr(rescore, "load_settings", lambda _: new_settings)
        _, equal = rescore.rescore_submission(
            entries[0]["submission_id"], data=None, verify=True, progress=lambda *_: None
        )
        assert equal
        path = f"/competitions/{slug}/tracks/public/thresholds"
        body = {"method": "manual", "tau": 0.9, "reason": "another tau"}
        assert other.call("organizer", "POST", path, json=body).status_code == 201
        after = other.call(None, "GET", f"/competitions/{slug}/leaderboard").json()
        assert after["tau"] == 0.9, "the change feed continues"
        assert other.scored("ada", slug, noise_images(31))["status"] == "scored"
        with other.context.sessions() as session:
            old = session.execute(text("SELECT count(*) FROM board_changes WHERE xid <> 3")).scalar_one()
            assert old < session.execute(text("SELECT count(*) FROM board_changes")).scalar_one()
    with pytest.raises(Conflict, match="has a competition"):
        kennel(new_settings, "restore", folder)


@pytest.mark.root
def test_files_that_root_restores_belong_to_the_service(
    service: Service, new_settings: Settings, kennel: Any, tmp_path: Path
) -> None:
    service.competition()
    assert kennel(service.context.settings, "backup", tmp_path / "backups").exit_code == 0
    account = system_account(SERVICE)
    assert account is not None
    folder = tmp_path / "service"
    folder.mkdir()
    os.chown(folder, account.uid, account.gid)
    settings = new_settings.model_copy(update={"blob_url": (folder / "blobs").as_uri()})
    assert kennel(settings, "restore", tmp_path / "backups").exit_code == 0
    restored = [path.stat() for path in folder.rglob("*")]
    assert len(restored) > 3
    assert {status.st_uid for status in restored} == {account.uid}
    assert {stat.S_IMODE(status.st_mode) & 0o077 for status in restored} == {0}, "other users cannot read entries"


def test_a_second_backup_copies_only_new_blobs(service: Service, kennel: Any, tmp_path: Path) -> None:
    slug = judged_competition(service)
    folder, settings = tmp_path / "backups", service.context.settings
    assert kennel(settings, "backup", folder).exit_code == 0
    first = stored_blobs(folder)
    times = {name: BackupFolder(folder).blob_path(name).stat().st_mtime_ns for name in first}
    service.scored("ada", slug, noise_images(40))
    (name,) = BackupFolder(folder).names()
    rename_as_older(folder, name)
    assert kennel(settings, "backup", folder).exit_code == 0
    second = stored_blobs(folder)
    assert first < second
    assert times == {name: BackupFolder(folder).blob_path(name).stat().st_mtime_ns for name in first}
    assert len(BackupFolder(folder).names()) == 2
    for path in (Path(settings.blob_url.removeprefix("file://")) / "submissions").rglob("*.zip"):
        path.unlink()
        break
    for name in BackupFolder(folder).names():
        rename_as_older(folder, name)
    lacking = kennel(settings, "backup", folder, "--keep", 1)
    assert lacking.exit_code == 1
    assert "The store lacks 1 blobs" in lacking.stderr
    assert len(BackupFolder(folder).names()) == 1
    assert len(stored_blobs(folder)) == len(second) - 1


def rename_as_older(folder: Path, name: str) -> None:
    """Give a backup an earlier name. Names of backups are times in seconds."""
    (folder / name).rename(folder / f"{int(name[:4]) - 1}{name[4:]}")


def test_a_damaged_backup_is_not_restored(
    service: Service, new_settings: Settings, kennel: Any, tmp_path: Path
) -> None:
    judged_competition(service)
    folder = tmp_path / "backups"
    assert kennel(service.context.settings, "backup", folder).exit_code == 0
    own, made = BackupFolder(folder).manifest()
    blob = next((folder / "blobs").glob("*/*"))
    whole = blob.read_bytes()
    for damage, file in (
        (lambda: blob.write_bytes(whole[:-1] + b"x"), blob),
        (blob.unlink, blob),
        (lambda: (own / "accounts.copy.gz").write_bytes(gzip.compress(b"")), own / "accounts.copy.gz"),
    ):
        damage()
        with pytest.raises(Invalid, match=file.name):
            kennel(new_settings, "verify-backup", folder)
        with pytest.raises(Invalid, match=file.name):
            kennel(new_settings, "restore", folder)
        blob.write_bytes(whole)
    fields = json.loads((own / manifest.MANIFEST).read_text())
    (own / manifest.MANIFEST).write_text(json.dumps(fields | {"revision": "9999"}))
    with pytest.raises(Invalid, match="newer version of Kennel"):
        kennel(new_settings, "restore", folder)
    (own / manifest.MANIFEST).write_text(json.dumps(fields | {"revision": "0051"}))
    with pytest.raises(Unavailable, match="This backup was made by a development version"):
        kennel(new_settings, "restore", folder)
    (own / manifest.MANIFEST).write_text(json.dumps(fields | {"format": 2}))
    with pytest.raises(Invalid, match="layout 2"):
        kennel(new_settings, "verify-backup", folder)
    with pytest.raises(NotFound, match="no backup 2020"):
        kennel(new_settings, "verify-backup", folder, "2020")
    assert made.blobs == len(list(manifest.read_blob_list(own)))


@pytest.fixture
def later_tables(tmp_path: Path) -> Iterator[None]:
    """Add a migration that adds a column."""
    with planted(tmp_path, 'op.execute("ALTER TABLE jobs ADD COLUMN planted TEXT")'):
        yield


@pytest.mark.usefixtures("later_tables")
def test_a_backup_of_earlier_tables_can_be_restored(
    servers: Servers, new_settings: Settings, kennel: Any, tmp_path: Path
) -> None:
    """The first start has created the newest tables and an admin. The restore replaces them."""
    folder = tmp_path / "backups"
    with empty_database(servers) as (app_url, owner_url):
        migrations.upgrade(owner_url, APP, migrations.FIRST)
        earlier = new_settings.model_copy(update={"database_url": SecretStr(app_url)})
        assert kennel(earlier, "backup", folder).exit_code == 0
    assert BackupFolder(folder).manifest()[1].revision == migrations.FIRST
    migrations.upgrade(new_settings.migration_url, APP)
    with running_service(new_settings):
        pass
    with pytest.raises(Conflict, match="has user accounts"):
        kennel(new_settings, "restore", folder)
    engine = sqlalchemy.create_engine(new_settings.migration_url)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE accounts CASCADE"))
    assert kennel(new_settings, "restore", folder).exit_code == 0
    with engine.begin() as connection:
        migrations.require_migrated(connection)
    engine.dispose()


def test_parallel_backups_are_refused_and_unfinished_ones_deleted(
    service: Service, kennel: Any, tmp_path: Path
) -> None:
    folder = BackupFolder(tmp_path / "backups")
    with folder.locked(), pytest.raises(Conflict, match="Another backup"):
        kennel(service.context.settings, "backup", folder.path)
    unfinished = folder.path / "2020-01-01T00-00-00Z"
    unfinished.mkdir()
    assert kennel(service.context.settings, "backup", folder.path).exit_code == 0
    assert not unfinished.exists()


def test_a_backup_to_a_full_disk_fails_with_one_sentence(
    service: Service, kennel: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    folder = BackupFolder(tmp_path / "backups")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable, match=f"^The disk of {folder.path} is full: free some space and try again"):
        kennel(service.context.settings, "backup", folder.path)
    assert folder.names() == []
